"""Short English passages to measure a language model on.

Half of the first twenty were written for this book, so no model has learnt them by heart. The
others, every second one, are from books whose copyright has ended; their dashes and brackets are
commas here, and the last sentence of some ends early. The last four, ours too, are
there to choose something on, such as heads, that is then measured on the twenty.
"""

OWN = (
    "The baker opened the shop at six, but nobody came before seven. By then the first loaves had "
    "gone cold, so she sold them for half the price and put the warm ones into the window.",
    "When Tomas moved to the island, he thought that the ferry would be enough. It ran twice a day "
    "in summer. In winter it ran when the captain felt like it, and the captain rarely did.",
    "To change the filter, switch the pump off and wait until the pressure has fallen. Then turn "
    "the cover to the left, take out the old filter, and clean the seal before you put in the new "
    "one.",
    "The committee met on Tuesday to talk about the bridge. It had been closed since March, and "
    "the people on the other side of the river now had to drive forty minutes to reach the "
    "hospital.",
    "My grandmother kept her letters in a blue box under the bed. After her death we found that "
    "half of them had never been opened. They were all from the same man, and all of them were "
    "short.",
    "Water boils at a lower temperature on a mountain because the air presses less on it. Rice "
    "therefore takes longer to cook there, and some people put a stone on the lid of the pot.",
    "The two teams had met four times that year, and each had won twice. So the last game was to "
    "decide. It rained all afternoon, the ball stopped in every puddle, and nobody scored.",
    "A good map leaves things out. If it showed every tree, nobody would find the road. The "
    "question is what the reader wants to do with it, and a sailor wants something else than a "
    "farmer.",
    "The doctor asked the nurse to bring the second chart, since the first belonged to another "
    "patient with the same name. She had noticed it by the date of birth, which was off by ten "
    "years.",
    "Anna lent her bicycle to Peter because his had a flat tyre. He promised to bring it back on "
    "Friday. On Sunday she walked to his house and found it in the garden, with a flat tyre.",
)
FREE = (
    # Jane Austen, Pride and Prejudice, 1813
    "Mr. Bennet was so odd a mixture of quick parts, sarcastic humour, reserve, and caprice, that "
    "the experience of three-and-twenty years had been insufficient to make his wife understand "
    "his character. Her mind was less difficult to develop.",
    # Mary Shelley, Frankenstein, 1818
    "It was on a dreary night of November that I beheld the accomplishment of my toils. With an "
    "anxiety that almost amounted to agony, I collected the instruments of life around me, that I "
    "might infuse a spark of being into the lifeless thing that lay at my feet.",
    # Herman Melville, Moby-Dick, 1851
    "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in "
    "my purse, and nothing particular to interest me on shore, I thought I would sail about a "
    "little and see the watery part of the world.",
    # Henry David Thoreau, Walden, 1854
    "When I wrote the following pages, or rather the bulk of them, I lived alone, in the woods, a "
    "mile from any neighbor, in a house which I had built myself, on the shore of Walden Pond, in "
    "Concord, Massachusetts, and earned my living by the labor of my hands only.",
    # Charles Darwin, On the Origin of Species, 1859
    "When on board H.M.S. Beagle, as naturalist, I was much struck with certain facts in the "
    "distribution of the inhabitants of South America, and in the geological relations of the "
    "present to the past inhabitants of that continent.",
    # Lewis Carroll, Alice's Adventures in Wonderland, 1865
    "Alice was beginning to get very tired of sitting by her sister on the bank, and of having "
    "nothing to do: once or twice she had peeped into the book her sister was reading, but it had "
    "no pictures or conversations in it.",
    # Adam Smith, The Wealth of Nations, 1776
    "The greatest improvement in the productive powers of labour, and the greater part of the "
    "skill, dexterity, and judgment, with which it is anywhere directed, or applied, seem to have "
    "been the effects of the division of labour.",
    # Arthur Conan Doyle, A Scandal in Bohemia, 1891
    "To Sherlock Holmes she is always the woman. I have seldom heard him mention her under any "
    "other name. In his eyes she eclipses and predominates the whole of her sex. It was not that "
    "he felt any emotion akin to love for Irene Adler.",
    # H. G. Wells, The Time Machine, 1895
    "The Time Traveller, for so it will be convenient to speak of him, was expounding a recondite "
    "matter to us. His pale grey eyes shone and twinkled, and his usually pale face was flushed "
    "and animated.",
    # Michael Faraday, The Chemical History of a Candle, 1861
    "There is not a law under which any part of this universe is governed which does not come into "
    "play, and is touched upon in these phenomena. There is no better, there is no more open door "
    "by which you can enter into the study of natural philosophy.",
)
MORE = (
    "The lighthouse keeper wrote down every ship that passed. Most of them he never saw again, but "
    "one came back each spring, and each spring it had been painted in another colour.",
    "If you plant beans between the rows of corn, both grow better. The corn gives the beans "
    "something to climb on, and the beans leave in the soil what the corn takes out of it.",
    "Nobody in the office knew who had ordered the piano. It stood in the hall for a week, then a "
    "man from the third floor began to play it at noon, and nobody asked any more.",
    "The judge read the letter twice. The first time she looked for what it said, the second time "
    "for what it left out, and then she asked the clerk to bring her the envelope.",
)
TEXTS = (*(text for pair in zip(OWN, FREE, strict=True) for text in pair), *MORE)
