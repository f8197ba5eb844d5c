// Texts as people tell them to an assistant, made from a seed: the same number always gives the same text.

interface Words {
  /** Of the topic: the same in all texts on it. */
  thing: string;
  part: string;
  activity: string;
  quality: string;
  event: string;
  /** Of this text alone. */
  name: string;
  other: string;
  place: string;
  day: string;
  coined: string;
  number: number;
}

const THINGS = words(
  `apartment|bakery|balcony|bicycle|boat|budget|camera|car|carpet|cello|checkout|choir|clinic|coffee machine|contract|cookbook|course|customer portal|
  dashboard|database|deployment|diet|dishwasher|drawing class|email client|exam|export job|fence|ferry|festival|fireplace|flight|garage|garden|greenhouse|
  guitar|gym membership|harvest|headphones|heating|hotel|insurance|interview|invoice|kitchen|laptop|lease|lecture|library|log file|loan|market stall|
  mattress|medication|meeting|migration|mortgage|mountain hut|museum|newsletter|novel|office|orchard|oven|parcel|passport|payment gateway|payroll|phone|
  photo album|piano|pipeline|podcast|pottery wheel|presentation|printer|puppy|queue|recipe|release|report|restaurant|roof|sailing trip|scholarship|
  school|search index|server|sewing machine|shipment|sofa|solar panel|spreadsheet|subscription|suitcase|survey|tax return|telescope|tent|theatre|thermostat|
  thesis|tooth|tournament|train|translation|treadmill|umbrella|vaccination|vineyard|violin|visa|wardrobe|warehouse|wedding|wheelchair|window|workshop`,
);
const PARTS = words(
  `account|address|agenda|answer|battery|bill|booking|box|brake|branch|cable|cache|certificate|chapter|colour|column|cover|date|deadline|delivery|deposit|
  design|door|draft|error|estimate|fee|filter|floor|form|frame|guest list|handle|hinge|key|label|layout|letter|licence|light|limit|list|lock|manual|map|menu|
  message|motor|name|note|number|opening hours|order|page|password|permit|plan|price|pump|quote|receipt|reminder|rent|reply|request|review|route|sample|
  schedule|screen|seat|sensor|shelf|signature|size|sound|speed|stain|surface|switch|table|ticket|timer|title|token|valve|version|warranty|wheel`,
);
const ACTIVITIES = words(
  `assemble|book|borrow|cancel|catalogue|change|check|clean|compare|copy|decorate|deliver|describe|discuss|drop|extend|file|finish|fix|insure|inspect|install|
  lend|measure|move|order|pack|paint|photograph|plan|postpone|practise|print|prepare|publish|rebuild|recommend|record|refund|rehearse|renew|rent|repair|
  replace|return|review|rewrite|schedule|sell|send|share|sign|sort|store|swap|test|translate|update|upgrade|visit|weigh`,
);
const QUALITIES = words(
  `affordable|ancient|bright|broken|calm|cheap|clumsy|cold|comfortable|crowded|damaged|dark|delayed|delicious|dusty|elegant|empty|excellent|expensive|fast|
  flexible|fragile|free|friendly|generous|green|heavy|hidden|huge|incomplete|late|light|local|loud|modern|narrow|noisy|old|outdated|patient|perfect|popular|
  quiet|rare|reliable|rude|rusty|safe|second-hand|sharp|silent|slow|smooth|spare|spicy|steep|strict|sturdy|tiny|unusual|useful|vegetarian|warm|wet|wooden`,
);
const EVENTS = words(
  `arrived two weeks late|broke down again|came back from repair|costs more than we thought|does not fit|failed at night|got lost on the way|has been sold out|
  is finally finished|is leaking|is much better now|is out of date|is too small for us|keeps restarting|looked different online|made the neighbours complain|
  needs a new owner|never worked properly|opens only in spring|passed the inspection|ran out of space|turned out well|was a present|was approved|was cancelled|
  was moved to the autumn|was recommended by a colleague|was stolen|will be ready soon|won a prize`,
);
const NAMES = words(
  `Ada|Akira|Alma|Amara|Anders|Anita|Ansel|Aron|Astrid|Bao|Beatriz|Bela|Bruno|Carla|Cedric|Chidi|Clara|Dalia|Dario|Deniz|Diego|Dora|Edda|Elias|Elif|Emre|
  Enzo|Esther|Farah|Felix|Fiona|Gita|Goran|Greta|Hana|Hassan|Helga|Hugo|Ida|Ilse|Imran|Ines|Iris|Ivan|Jaya|Jonas|Jun|Karim|Katya|Kofi|Lars|Leila|Levi|Lina|
  Luca|Mabel|Magnus|Malik|Mara|Mateo|Mei|Milan|Mina|Nadia|Nils|Noor|Olga|Omar|Oskar|Paola|Pavel|Petra|Priya|Quentin|Rafael|Rania|Rosa|Ruben|Sami|Selma|Silas|
  Sofia|Stefan|Sven|Tamar|Tariq|Theo|Tilda|Uma|Vera|Viktor|Wanda|Xenia|Yara|Yusuf|Zelda|Zoran`,
);
const PLACES = words(
  `Aarhus|Accra|Adelaide|Ankara|Antwerp|Athens|Bergen|Bilbao|Bogota|Bremen|Brno|Cairo|Calgary|Cardiff|Casablanca|Cork|Dakar|Delhi|Dresden|Dublin|Esbjerg|
  Florence|Galway|Geneva|Ghent|Graz|Hanoi|Helsinki|Izmir|Kigali|Krakow|Kyoto|Lagos|Leeds|Leipzig|Lima|Linz|Lisbon|Ljubljana|Lyon|Malaga|Malmo|Manila|
  Montreal|Nairobi|Nantes|Naples|Odense|Oslo|Ottawa|Palermo|Perth|Porto|Prague|Pune|Quito|Riga|Rotterdam|Salzburg|Seoul|Seville|Split|Tallinn|Tampere|Tirana|
  Trieste|Turin|Turku|Utrecht|Valencia|Vienna|Vilnius|Warsaw|Zagreb`,
);
const DAYS = words(
  `on Monday|on Tuesday|on Wednesday|on Thursday|on Friday|on Saturday|on Sunday|last week|next week|this morning|yesterday|tomorrow|in January|in March|in May|
  in July|in September|in November|before Easter|after the holidays|at noon|tonight|two days ago|in three weeks|at the end of the month|in spring|last winter`,
);
const SYLLABLES = words('ba|cor|dan|el|fir|gal|hol|in|jor|kel|lum|mar|nex|or|pra|quil|ros|sta|tem|ul|vel|wen|xan|yor|zim');

type Frame = (words: Words) => { says: string; asks: string };

const FRAMES: readonly Frame[] = [
  (w) => ({
    says: `${w.name} told me that the ${w.thing} in ${w.place} ${w.event}, so we will ${w.activity} the ${w.part} ${w.day}.`,
    asks: `What happened to the ${w.thing} in ${w.place}?`,
  }),
  (w) => ({
    says: `I would rather ${w.activity} a ${w.quality} ${w.thing} than pay ${w.number} euros for the ${w.part}; ${w.other} knows one in ${w.place}.`,
    asks: `What kind of ${w.thing} does the user want to ${w.activity} in ${w.place}?`,
  }),
  (w) => ({
    says: `We decided ${w.day} to ${w.activity} the ${w.thing} for ${w.coined}, because the ${w.part} ${w.event}.`,
    asks: `Why did we ${w.activity} the ${w.thing} for ${w.coined}?`,
  }),
  (w) => ({
    says: `Please remind me to ${w.activity} the ${w.part} of the ${w.thing} ${w.day}; ${w.name} has the ${w.quality} one.`,
    asks: `Who has the ${w.quality} ${w.part} of the ${w.thing}, ${w.name}?`,
  }),
  (w) => ({
    says: `${w.coined} is led by ${w.name} from ${w.place}; its ${w.thing} has a budget of ${w.number} and the ${w.part} ${w.event}.`,
    asks: `How large is the budget for the ${w.thing} of ${w.coined}?`,
  }),
  (w) => ({
    says: `My sister ${w.name} moved to ${w.place} and found a ${w.quality} ${w.thing}. The ${w.part} ${w.event}, she says, but she likes it.`,
    asks: `What did ${w.name} find in ${w.place}, and is the ${w.thing} ${w.quality}?`,
  }),
  (w) => ({
    says: `The ${w.part} of the ${w.thing} ${w.event} after ${w.number} days. ${w.name} and ${w.other} want to ${w.activity} it with ${w.coined}.`,
    asks: `After how many days was the ${w.part} of ${w.name}'s ${w.thing} a problem?`,
  }),
  (w) => ({
    says: `Never ${w.activity} the ${w.thing} without asking ${w.name} first, since the ${w.quality} ${w.part} belongs to ${w.coined}.`,
    asks: `Whom to ask before we ${w.activity} the ${w.thing} of ${w.coined}?`,
  }),
  (w) => ({
    says: `Honestly, the ${w.thing} was too ${w.quality} for me. It ${w.event}, the ${w.part} cost ${w.number} and ${w.name} was annoyed ${w.day}.`,
    asks: `Why was ${w.name} annoyed about the ${w.quality} ${w.thing}?`,
  }),
  (w) => ({
    says: `${w.name}: can you ${w.activity} the ${w.part}? ${w.other}: yes, ${w.day}, when the ${w.thing} in ${w.place} is ${w.quality} again.`,
    asks: `When will ${w.other} ${w.activity} the ${w.part} in ${w.place}?`,
  }),
  (w) => ({
    says: `Ticket ${w.number}: the ${w.thing} of ${w.coined} ${w.event}. The ${w.part} looks ${w.quality}, so ${w.name} will ${w.activity} it ${w.day}.`,
    asks: `What is the matter with the ${w.thing} of ${w.coined}, and who will ${w.activity} it?`,
  }),
  (w) => ({
    says: `For ${w.name}'s birthday in ${w.place} I want a ${w.quality} ${w.thing}, not over ${w.number} euros, with a ${w.part} that we can ${w.activity} ${w.day}.`,
    asks: `What shall we get for ${w.name}'s birthday in ${w.place}?`,
  }),
];

/** How many things the texts are about; the topic of a text is its number modulo this. */
export const TOPICS = 4_000;

/** What somebody stores: one to three sentences, the first on the topic. */
export function textOf(number: number): string {
  const detail = randomFrom(number + 1_000_000);
  const asides = Array.from({ length: Math.floor(detail() * 3) }, () => sentence(Math.floor(detail() * TOPICS), detail).says);
  return [sentence(number % TOPICS, detail).says, ...asides].join(' ');
}

/** What somebody asks on the topic. */
export function questionOf(number: number): string {
  return sentence(number % TOPICS, randomFrom(number + 500_000_000)).asks;
}

/** The texts of all numbers from 0 on, without those that came before. */
export function* distinct(textOf: (number: number) => string): Generator<{ number: number; text: string }, never> {
  const seen = new Set<string>();
  for (let number = 0; ; number++) {
    const text = textOf(number);
    if (seen.has(text)) continue;
    seen.add(text);
    yield { number, text };
  }
}

/** Numbers from 0 to below 1, always the same for a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function sentence(topic: number, detail: () => number): { says: string; asks: string } {
  const fixed = randomFrom(topic);
  const coined = Array.from({ length: 3 }, () => pick(SYLLABLES, detail)).join('');
  return pick(
    FRAMES,
    fixed,
  )({
    thing: pick(THINGS, fixed),
    part: pick(PARTS, fixed),
    activity: pick(ACTIVITIES, fixed),
    quality: pick(QUALITIES, fixed),
    event: pick(EVENTS, fixed),
    name: pick(NAMES, detail),
    other: pick(NAMES, detail),
    place: pick(PLACES, detail),
    day: pick(DAYS, detail),
    coined: coined[0]!.toUpperCase() + coined.slice(1),
    number: 3 + Math.floor(detail() * 997),
  });
}

function pick<Item>(from: readonly Item[], random: () => number): Item {
  return from[Math.floor(random() * from.length)]!;
}

function words(list: string): string[] {
  return list.split('|').map((word) => word.trim());
}
