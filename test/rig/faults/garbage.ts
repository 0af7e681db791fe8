// Answers that no sound API server gives.

export const garbage: readonly string[] = [
  '{"type":"ADDED","object":',
  '\ufeff{"type":"ADDED","object":{}}',
  '{"type":"ADDED","object":{"metadata":{"name":"a\u0000b"}}}',
  '{"type":"ADDED","type":"DELETED","object":{"__proto__":{"x":1},"metadata":{}}}',
  `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  '{"type":"MODIFIED","object":{"kind":"Endpoints","apiVersion":"v1","metadata":{"name":"\\ud800","namespace":"t1","resourceVersion":"1e400","uid":"u"}}}',
  '<html><body>502 Bad Gateway</body></html>',
];

const changed = (change: (list: ListBody) => object) => (text: string) => {
  try {
    return JSON.stringify(change(JSON.parse(text) as ListBody));
  } catch {
    return text;
  }
};

interface ListBody {
  metadata?: object;
  items?: unknown;
}

/** Lists that are well-formed and untrue. */
export const changedBodies = {
  empty: changed((list) => ({ ...list, items: [] })),
  otherKind: changed((list) => ({ ...list, kind: 'PodList', apiVersion: 'v1', items: [] })),
  noItems: changed(({ items: _, ...list }) => list),
  noVersion: changed(({ metadata: _, ...list }) => ({ ...list, metadata: {} })),
};
