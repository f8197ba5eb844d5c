// Starts GraphiQL with the key of this tab.
const KEY = 'memory-service-api-key';
const form = document.querySelector('#key');
const field = document.querySelector('#api-key');
const root = document.querySelector('#graphiql');
const key = sessionStorage.getItem(KEY) ?? '';

field.value = key;
if (!key) field.focus();
form.addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, field.value.trim());
  location.reload();
});

self.MonacoEnvironment = { getWorkerUrl: (_, label) => `assets/graphiql-worker-${label}.js` };

const SEARCH = `# Ctrl-Enter runs this, Ctrl-Space completes.
# The tab Store stores what this finds.
query Search {
  searchMemories(query: "Which city does Maya live in?") {
    hits {
      score
      memory {
        content
        userId
        createdAt
      }
    }
  }
}
`;
const STORE = `mutation Store {
  storeMemory(input: { content: "Maya moved to Lisbon in May", userId: "maya" }) {
    id
    stored
  }
}
`;

YogaGraphiQL.renderYogaGraphiQL(root, {
  title: 'Memory service',
  logo: ' ',
  endpoint: 'graphql',
  headers: JSON.stringify({ Authorization: `Bearer ${key}` }, null, 2),
  shouldPersistHeaders: false,
  defaultTabs: [{ query: SEARCH }, { query: STORE }],
  // The tab to open: without it GraphiQL adds an empty one whenever it is loaded again.
  query: localStorage.getItem('graphiql:query') ?? SEARCH,
  // By default every query is written into the address, which browsers keep.
  onEditQuery: () => undefined,
  ...(root.dataset.introspection === 'false' ? { schema: null } : {}),
});
