/**
 * A text as an agent stores it, and three that stand at known distances from it: the same in other words, a question that it answers, and another
 * statement on its topic. Texts of different probes have nothing to do with each other.
 */
export interface Probe {
  text: string;
  paraphrase: string;
  question: string;
  topic: string;
}

/** Written for calibration: preferences, personal facts, project facts, decisions, chat turns, technical notes and events, short ones and long. */
export const probes: readonly Probe[] = [
  {
    text: 'I prefer dark roast coffee without sugar.',
    paraphrase: 'My favourite coffee is strongly roasted, and I take it unsweetened.',
    question: 'How does the user like their coffee?',
    topic: 'The coffee machine on the third floor makes good espresso.',
  },
  {
    text: 'The user wants answers in short bullet points, never long paragraphs.',
    paraphrase: 'Replies should be brief lists; she dislikes walls of prose.',
    question: 'What format should my responses have?',
    topic: 'The user asked for a longer answer about the tax form.',
  },
  {
    text: 'We decided to use PostgreSQL rather than MongoDB for the billing service because invoices need transactions.',
    paraphrase: 'For billing the team picked Postgres over Mongo, since invoice writes have to be transactional.',
    question: 'Why did we choose Postgres for billing?',
    topic: 'MongoDB stores the event log of the recommendation team.',
  },
  {
    text: 'Elena was born in Valencia and moved to Oslo in 2016.',
    paraphrase: 'Originally from Valencia, Elena has lived in Oslo since 2016.',
    question: 'Where does Elena come from?',
    topic: 'Elena is planning a trip to Bergen next spring.',
  },
  {
    text: 'Deployments to production are frozen from December 18 until January 4.',
    paraphrase: 'Between 18 December and 4 January nothing may be released to prod.',
    question: 'When is the release freeze?',
    topic: 'The deployment on Tuesday took forty minutes because the migration was slow.',
  },
  {
    text: 'My daughter Nora is allergic to peanuts and carries an EpiPen.',
    paraphrase: 'Nora, my girl, has a peanut allergy, so she always has her adrenaline injector with her.',
    question: 'Which allergy does Nora have?',
    topic: 'Nora starts at her new school in August.',
  },
  {
    text: 'The search endpoint times out when the query contains more than fifty terms; raising the timeout to 10 seconds did not help.',
    paraphrase: 'Searches with over 50 words run into the time limit, and a longer limit of ten seconds made no difference.',
    question: 'What makes the search endpoint time out?',
    topic: 'The search endpoint now also accepts a filter on the date of publication.',
  },
  {
    text: 'Remind me to call the dentist on Thursday afternoon.',
    paraphrase: 'On Thursday after lunch I need to phone my dental clinic; please nudge me.',
    question: 'When should I call the dentist?',
    topic: 'The dentist said that the crown on my molar will last ten years.',
  },
  {
    text: 'Project Heron is led by Tomasz Wolny; the budget is 240,000 euros and it ends in September.',
    paraphrase: 'Tomasz Wolny heads Heron, which has 240k EUR to spend and finishes in September.',
    question: 'Who leads project Heron?',
    topic: 'The kick-off of Heron was delayed because two contracts were missing.',
  },
  {
    text: 'I have been learning to play the cello for two years and practise every evening.',
    paraphrase: 'Two years ago I took up the cello, and I rehearse it nightly.',
    question: 'Which instrument does the user play?',
    topic: 'We heard a wonderful string quartet in the town hall.',
  },
  {
    text: 'Never use semicolons in the TypeScript code of this repository; the formatter removes them.',
    paraphrase: 'In this codebase TS files are written without semicolons, which the code formatter strips anyway.',
    question: 'What is the convention about semicolons?',
    topic: 'TypeScript 5 made the build of this repository twice as fast.',
  },
  {
    text: "Honestly I'm worn out, the baby woke up four times last night and I have the board presentation today.",
    paraphrase: 'I am exhausted: our infant kept getting up during the night, and I must present to the board this very day.',
    question: 'Why is the user tired today?',
    topic: 'The baby has started to crawl and pulls books off the shelf.',
  },
  {
    text: 'The Kafka cluster has three brokers in Frankfurt and keeps messages for seven days.',
    paraphrase: 'Messages stay in Kafka for a week; it runs on a trio of brokers located in Frankfurt.',
    question: 'How long are Kafka messages retained?',
    topic: 'A consumer of the Kafka topic for payments fell behind by two million messages.',
  },
  {
    text: 'Marcus is vegetarian, so book a restaurant with good meatless dishes.',
    paraphrase: 'Choose a place to eat that does well without meat, because Marcus does not eat it.',
    question: 'What does Marcus not eat?',
    topic: 'Marcus burned the lasagne on Sunday and we ordered pizza.',
  },
  {
    text: 'The customer Brightwater Logistics renewed its contract for three years at a discount of 12 percent.',
    paraphrase: 'Brightwater Logistics extended for another three years and gets 12% off.',
    question: 'What discount did Brightwater receive?',
    topic: 'Brightwater Logistics opened two support tickets about missing delivery notes.',
  },
  {
    text: 'My car is a blue Skoda Octavia from 2019 with the plate number in the glove box.',
    paraphrase: 'I drive a 2019 Octavia in blue; a note with its registration lies in the glove compartment.',
    question: 'What car does the user drive?',
    topic: 'The garage quoted 600 euros for new brakes on the car.',
  },
  {
    text: 'The memory leak came from event listeners that were never removed when a websocket closed.',
    paraphrase: 'Handlers left attached after socket disconnects were what made the memory grow.',
    question: 'What caused the memory leak?',
    topic: 'The websocket server is limited to 512 MB of memory in the container.',
  },
  {
    text: 'We will drop support for Internet Explorer and Safari 13 in version 4.',
    paraphrase: 'From v4 on, IE and Safari 13 are no longer supported.',
    question: 'Which browsers will not be supported any more?',
    topic: 'In Safari the date picker shows the wrong month.',
  },
  {
    text: "Grandma's birthday is on the ninth of March and she turns eighty this year.",
    paraphrase: 'My grandmother will be 80 this year; her day is March 9.',
    question: "When is grandma's birthday?",
    topic: 'Grandma showed us how she bakes her plum cake.',
  },
  {
    text: 'The API limits each key to 600 requests a minute and answers 429 beyond that.',
    paraphrase: 'A single key may send six hundred calls per minute; any more get a 429.',
    question: 'What is the rate limit of the API?',
    topic: 'API keys can be revoked on the settings page of the account.',
  },
  {
    text: 'I ran the Lisbon half marathon in 1:52 and want to get below 1:45 next season.',
    paraphrase: 'My time at the half marathon in Lisbon was 1h52; the goal for the coming season is under 1h45.',
    question: 'What is the running goal for next season?',
    topic: 'New running shoes gave me blisters on the first long run.',
  },
  {
    text: 'The legal team requires that personal data is deleted within thirty days after an account is closed.',
    paraphrase: 'When someone closes their account, Legal says that we have to erase their personal information in at most 30 days.',
    question: 'How soon must personal data be erased?',
    topic: 'The legal team is reviewing the contract with the new cloud provider.',
  },
  {
    text: 'Aunt Rosa keeps bees and gives us six jars of honey every autumn.',
    paraphrase: 'Each fall we get half a dozen pots of honey from Rosa, my aunt, who has beehives.',
    question: 'Who gives us honey?',
    topic: 'Bees are important for the apple trees in the valley.',
  },
  {
    text: 'To restore the staging database run make restore-staging, then restart the workers.',
    paraphrase: 'Staging is recovered from its backup with the make target restore-staging; afterwards the worker processes need a restart.',
    question: 'How do I restore the staging database?',
    topic: 'The staging database has only a tenth of the rows of production.',
  },
  {
    text: 'The onboarding flow loses 38 percent of new users at the step where they connect a bank account.',
    paraphrase: 'Nearly four in ten newcomers drop out of onboarding when asked to link their bank.',
    question: 'At which step do users leave the onboarding?',
    topic: 'The onboarding now greets new users with a short video.',
  },
  {
    text: 'I would rather work from home on Mondays and Fridays.',
    paraphrase: 'At the start and the end of the week, I like staying home to do my job.',
    question: 'On which days does the user want to work remotely?',
    topic: 'The office will get new desks and a quiet room.',
  },
  {
    text: 'Priya found that the nightly job fails whenever the clocks change, because it computes the day in local time.',
    paraphrase: 'According to Priya, daylight saving breaks the job that runs at night, as its date is worked out in the local zone.',
    question: 'Why does the nightly job fail?',
    topic: 'The nightly job sends its report to the finance mailbox.',
  },
  {
    text: 'Our cat Miso is twelve years old and needs kidney food from the vet.',
    paraphrase: 'Miso, the 12-year-old cat, gets a renal diet prescribed by the veterinarian.',
    question: 'What does the cat have to eat?',
    topic: 'Miso caught a mouse behind the shed.',
  },
  {
    text: 'The new logo must not be used on dark backgrounds; there is an inverted version in the brand folder.',
    paraphrase: 'On dark surfaces take the inverted logo, which is in the branding directory, instead of the regular one.',
    question: 'Which logo goes on a dark background?',
    topic: 'The agency that designed the logo also made the posters.',
  },
  {
    text: 'I speak Portuguese at home, English at work and a little Japanese.',
    paraphrase: 'With my family I talk in Portuguese, my job is in English, and I know some Japanese.',
    question: 'Which languages does the user speak?',
    topic: 'I am looking for an evening class in Japanese calligraphy.',
  },
  {
    text: 'The image resize lambda needs 1.5 GB of memory, because large PNG files are decoded in full.',
    paraphrase: 'Decoding whole big PNGs is why the function that scales pictures must have one and a half gigabytes.',
    question: 'How much memory does the image resize lambda need?',
    topic: 'The image resize lambda writes thumbnails to a bucket.',
  },
  {
    text: 'We agreed that interns review pull requests together with a senior engineer during their first two months.',
    paraphrase: 'For the first two months an experienced engineer pairs with each intern on code reviews; that is what was settled.',
    question: 'Who reviews pull requests with the interns?',
    topic: 'Two interns will join the platform team in July.',
  },
  {
    text: 'Ahmed missed his flight to Toronto and will arrive a day late, on the 14th.',
    paraphrase: 'Since Ahmed was too late for his plane, he gets to Toronto on the 14th, one day after the plan.',
    question: 'When will Ahmed arrive in Toronto?',
    topic: 'Ahmed says that the hotel in Toronto is close to the lake.',
  },
  {
    text: 'The tests must run against a real Redis, since the mock ignores expiry.',
    paraphrase: 'Do not mock Redis in tests, because the fake never lets keys expire; use an actual server.',
    question: 'Why should the tests use a real Redis?',
    topic: 'Redis holds the sessions of the web shop.',
  },
  {
    text: [
      'Meeting notes, platform team. We looked at the outage of last Wednesday first. The load balancer took two of the five gateways out of rotation because',
      'their health check waited for the database, which was busy with a vacuum. The other three could not take the traffic and were restarted one after',
      'the other by the orchestrator, so that for eleven minutes nobody could log in. Ingrid will split the health check into one that says that the process is',
      'alive and one that says that it is ready, and only the second may look at the database. Felix will move the vacuum to the early morning. We also',
      'agreed to keep one more gateway running than the traffic needs, and to write to the customers who were hit by Friday.',
    ].join(' '),
    paraphrase: [
      'The platform group went through the incident in which logins failed for eleven minutes: gateways were removed as unhealthy while Postgres was vacuuming,',
      'and the rest collapsed under the load. Separate liveness and readiness probes (Ingrid), vacuuming at dawn (Felix), a spare gateway and a letter to the',
      'affected customers are the follow-ups.',
    ].join(' '),
    question: 'Why could nobody log in last Wednesday?',
    topic: 'The platform team is going to replace the load balancer by a managed one next year.',
  },
  {
    text: [
      'Our holiday in Slovenia: we started in Ljubljana, where we stayed three nights in a small hotel near the dragon bridge and the children rode the funicular',
      'to the castle. Then we took the train to Lake Bled and rowed to the island. It rained for two days, so we visited the caves at Postojna instead of hiking.',
      'At the end we spent four days in Piran by the sea. Everybody agreed that the best meal was grilled squid in a place by the harbour, and that we would come',
      'back in June, when it is less crowded. The whole trip cost about 3,100 euros for five people.',
    ].join(' '),
    paraphrase: [
      'Our family trip took us to the Slovenian capital with its castle, to Bled by rail, into the Postojna caves because of bad weather, and finally to the coast',
      'at Piran, with squid as the culinary highlight. We paid roughly 3,100 EUR for the five of us and would like to return in early summer.',
    ].join(' '),
    question: 'Where did the family go on holiday in Slovenia?',
    topic: 'For the next holiday the children would like to see Croatia or the Italian coast.',
  },
  {
    text: [
      'Sofia told me about her new job today. She is a nurse on the heart ward of the university clinic now, and works nights twice a week. The shifts are long,',
      'but the colleagues are kind, and she learns a lot from the head nurse, who has been there for thirty years. She misses her old team in the children’s ward,',
      'and still meets them on the first Friday of each month. Next year she would like to begin the training for intensive care.',
    ].join(' '),
    paraphrase: [
      'Sofia has switched from paediatrics to cardiology nursing at the university hospital, with two night shifts weekly. She likes her co-workers, sees the former',
      'ones monthly, and wants to specialise in intensive care from next year.',
    ].join(' '),
    question: 'What is Sofia’s job now?',
    topic: 'The university clinic is building a new wing for its emergency patients, says Sofia.',
  },
  {
    text: [
      'How pricing works since the spring: every plan has a monthly base fee and a number of included documents. Starter includes 200, Team 2,000 and Business',
      '20,000. Each further document costs four cents on Starter, three on Team and one and a half on Business. Unused documents do not carry over. Scans count double,',
      'because text has to be recognised first. Non-profits pay half of the base fee. Changing the plan takes effect at once when it goes up and at the end of the',
      'month when it goes down. Invoices are sent on the second working day.',
    ].join(' '),
    paraphrase: [
      'The price model has a base charge with an allowance of documents by tier (200, 2,000 or 20,000) and a few cents for each one beyond it; scanned pages are counted',
      'twice, charities get the fee for half, upgrades apply immediately and downgrades with the next month.',
    ].join(' '),
    question: 'What does an additional document cost on the Team plan?',
    topic: 'Two customers complained that the invoice for their plan did not show the tax number.',
  },
  {
    text: 'Use the metric system and 24-hour times whenever you show measurements to me.',
    paraphrase: 'Measures should be shown to me in metric units, and hours from 0 to 24.',
    question: 'Which units does the user prefer?',
    topic: 'I measured the living room for the new carpet.',
  },
  {
    text: 'The greenhouse sensor reported 41 degrees at noon, and two trays of seedlings died.',
    paraphrase: 'Two seedling trays were lost when the glasshouse heated up to 41 °C around midday.',
    question: 'What happened to the seedlings?',
    topic: 'The seedlings need to be watered every morning in the greenhouse.',
  },
];
