// The query parameters that OpenAPI documents list for each verb, as a real server lists them.

export interface Parameter {
  name: string;
  in: 'path' | 'query';
  description: string;
  required?: true;
  schema: { type: string; uniqueItems: true };
}

const query = (name: string, type: string, description: string): Parameter => ({
  name,
  in: 'query',
  description,
  schema: { type, uniqueItems: true },
});

const inPath = (name: string, description: string): Parameter => ({
  name,
  in: 'path',
  description,
  required: true,
  schema: { type: 'string', uniqueItems: true },
});

export const nameParameter = inPath('name', 'Name of the object.');
export const namespaceParameter = inPath('namespace', 'Namespace of the object.');
export const prettyParameter = query('pretty', 'string', 'If "true", the answer is indented.');

const dryRun = query('dryRun', 'string', 'With "All", every check runs and nothing is stored.');

export const writeParameters: readonly Parameter[] = [
  dryRun,
  query('fieldManager', 'string', 'Name of the client that manages the written fields, at most 128 characters.'),
  query('fieldValidation', 'string', 'What happens to unknown and duplicate fields: Ignore, Warn or Strict.'),
];

export const patchParameters: readonly Parameter[] = [
  ...writeParameters,
  query('force', 'boolean', 'An apply takes over the fields of other managers. Only for apply patches.'),
];

export const deleteParameters: readonly Parameter[] = [
  dryRun,
  query('gracePeriodSeconds', 'integer', 'Seconds until the object is deleted; 0 deletes it at once.'),
  query('orphanDependents', 'boolean', 'Deprecated: use propagationPolicy.'),
  query('propagationPolicy', 'string', 'What happens to dependents: Orphan, Background or Foreground.'),
];

export const listParameters: readonly Parameter[] = [
  query('allowWatchBookmarks', 'boolean', 'A watch gets events of type BOOKMARK.'),
  query('continue', 'string', 'Token of the page before; the answer is the next page of the same list.'),
  query('fieldSelector', 'string', 'Restricts the objects by their fields.'),
  query('labelSelector', 'string', 'Restricts the objects by their labels.'),
  query('limit', 'integer', 'Largest number of objects in a page.'),
  query('resourceVersion', 'string', 'How old the answer may be, or where a watch begins.'),
  query('resourceVersionMatch', 'string', 'How resourceVersion is applied to a list: Exact or NotOlderThan.'),
  query('sendInitialEvents', 'boolean', 'A watch begins with the objects that are there now.'),
  query('timeoutSeconds', 'integer', 'Limits the duration of the request.'),
  query('watch', 'boolean', 'The answer is a stream of changes.'),
];
