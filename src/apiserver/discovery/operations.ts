// The operations of OpenAPI v3 documents: for each kind its paths, and for each verb its parameters, body and answers.
import type { Kind } from '../kinds/kind.ts';
import type { Schema } from '../kinds/schema.ts';
import type { Dialect } from '../request/dialect.ts';
import { patchTypes } from '../verbs/patch/patch-object.ts';
import { metaReference } from './meta-definitions.ts';
import {
  deleteParameters,
  listParameters,
  nameParameter,
  namespaceParameter,
  type Parameter,
  patchParameters,
  prettyParameter,
  writeParameters,
} from './parameters.ts';

export interface Action {
  name: string;
  group: string;
  version: string;
  kind: string;
  schema: string;
}

/** The subresources with a kind of their own. */
export function actionsOf(kind: Kind): Action[] {
  return Object.entries(kind.subresources ?? {}).flatMap(([name, subresource]) =>
    subresource.mode === 'action' ? [{ ...subresource, name }] : [],
  );
}

interface OperationFacts {
  id: string;
  action: string;
  of: Pick<Kind, 'group' | 'version' | 'kind'>;
  answer: Schema;
  codes: readonly (200 | 201 | 202)[];
  parameters?: readonly Parameter[];
  body?: { types: readonly string[]; schema: Schema };
}

interface Operation {
  parameters?: readonly Parameter[];
  [member: string]: unknown;
}

type Operations = Record<string, Operation>;

const descriptions = { 200: 'OK', 201: 'Created', 202: 'Accepted' };
const textTypes = ['application/json', 'application/yaml'];

export function pathsOf(place: string, kind: Kind, dialect: Dialect): Record<string, object> {
  const collection = `/${place}/${kind.namespaced ? 'namespaces/{namespace}/' : ''}${kind.plural}`;
  const shared = [...(kind.namespaced ? [namespaceParameter] : []), prettyParameter];
  const paths: Record<string, object> = { [collection]: pathOf(collectionOperations(kind), shared) };
  const verbs = new Set(kind.verbs);
  const ofOne = [nameParameter, ...shared];
  if (verbs.has('get')) {
    const patches = offeredPatchTypes(dialect);
    paths[`${collection}/{name}`] = pathOf(objectOperations(kind, { patches, verbs }), ofOne);
    for (const [name, subresource] of Object.entries(kind.subresources ?? {})) {
      if (subresource.mode !== 'part') continue;
      const facts = { patches, verbs: new Set<string>(subresource.verbs), suffix: upper(name) };
      paths[`${collection}/{name}/${name}`] = pathOf(objectOperations(kind, facts), ofOne);
    }
  }
  for (const action of actionsOf(kind))
    paths[`${collection}/{name}/${action.name}`] = pathOf({ post: actionOperation(kind, action) }, ofOne);
  if (kind.namespaced && verbs.has('list')) {
    const id = `list${groupVersionWord(kind)}${kind.kind}ForAllNamespaces`;
    paths[`/${place}/${kind.plural}`] = pathOf({ get: listOperation(kind, id) }, [prettyParameter]);
  }
  return paths;
}

/** The parameters of a path with a single operation are at the path. */
function pathOf(operations: Operations, shared: readonly Parameter[]): object {
  const [first, ...others] = Object.entries(operations);
  if (first === undefined || others.length > 0) return { ...operations, parameters: shared };
  const [method, { parameters = [], ...rest }] = first;
  return { [method]: rest, parameters: [...parameters, ...shared] };
}

function collectionOperations(kind: Kind): Operations {
  const verbs = new Set(kind.verbs);
  const found: Operations = {};
  if (verbs.has('list')) found['get'] = listOperation(kind, idOf('list', kind));
  if (verbs.has('create'))
    found['post'] = writeOperation(kind, { id: 'create', action: 'post', codes: [200, 201, 202] });
  if (verbs.has('deletecollection')) {
    found['delete'] = operation({
      id: idOf('delete', kind, 'Collection'),
      action: 'deletecollection',
      of: kind,
      answer: metaReference('Status'),
      codes: [200],
      parameters: [
        ...listParameters.filter(({ name }) => name !== 'watch' && name !== 'allowWatchBookmarks'),
        ...deleteParameters,
      ],
      body: { types: textTypes, schema: metaReference('DeleteOptions') },
    });
  }
  return found;
}

/** Of an object, or of a subresource that is a part of the object. */
function objectOperations(
  kind: Kind,
  { verbs, patches, suffix = '' }: { verbs: ReadonlySet<string>; patches: readonly string[]; suffix?: string },
): Operations {
  const answer = referenceTo(kind.schema);
  const found: Operations = {};
  if (verbs.has('get'))
    found['get'] = operation({ id: idOf('read', kind) + suffix, action: 'get', of: kind, answer, codes: [200] });
  if (verbs.has('update'))
    found['put'] = writeOperation(kind, { id: 'replace', action: 'put', codes: [200, 201] }, suffix);
  if (verbs.has('patch')) {
    found['patch'] = operation({
      id: idOf('patch', kind) + suffix,
      action: 'patch',
      of: kind,
      answer,
      codes: [200, 201],
      parameters: patchParameters,
      body: { types: patches, schema: metaReference('Patch') },
    });
  }
  if (verbs.has('delete')) {
    found['delete'] = operation({
      id: idOf('delete', kind),
      action: 'delete',
      of: kind,
      answer: metaReference('Status'),
      codes: [200, 202],
      parameters: deleteParameters,
      body: { types: textTypes, schema: metaReference('DeleteOptions') },
    });
  }
  return found;
}

function listOperation(kind: Kind, id: string): Operation {
  const answer = referenceTo(`${kind.schema}List`);
  return operation({ id, action: 'list', of: kind, answer, codes: [200], parameters: listParameters });
}

function writeOperation(kind: Kind, facts: Pick<OperationFacts, 'id' | 'action' | 'codes'>, suffix = ''): Operation {
  const schema = referenceTo(kind.schema);
  const body = { types: textTypes, schema };
  const id = idOf(facts.id, kind) + suffix;
  return operation({ ...facts, id, of: kind, answer: schema, parameters: writeParameters, body });
}

function actionOperation(kind: Kind, action: Action): Operation {
  const schema = referenceTo(action.schema);
  return operation({
    id: `${idOf('create', kind)}${upper(action.name)}`,
    action: 'post',
    of: action,
    answer: schema,
    codes: [200, 201, 202],
    parameters: writeParameters,
    body: { types: textTypes, schema },
  });
}

function operation({ id, action, of, answer, codes, parameters = [], body }: OperationFacts): Operation {
  const responses: Record<string, object> = { '401': { description: 'Unauthorized' } };
  for (const code of codes)
    responses[code] = { description: descriptions[code], content: contentOf(textTypes, answer) };
  return {
    operationId: id,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { content: contentOf(body.types, body.schema) } }),
    responses,
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group: of.group, version: of.version, kind: of.kind },
  };
}

function contentOf(types: readonly string[], schema: Schema): object {
  return Object.fromEntries(types.map((type) => [type, { schema }]));
}

/** kubectl apply sends what is offered here; the strict dialect accepts strategic merge patches and does not offer them. */
function offeredPatchTypes(dialect: Dialect): string[] {
  return Object.values(patchTypes).filter((type) => dialect !== 'strict' || type !== patchTypes.strategic);
}

function referenceTo(schema: string): Schema {
  return { $ref: `#/components/schemas/${schema}` };
}

function idOf(verb: string, kind: Kind, what = ''): string {
  return `${verb}${groupVersionWord(kind)}${what}${kind.namespaced ? 'Namespaced' : ''}${kind.kind}`;
}

/** `CoreV1`, `AuthorizationV1`: operation ids of one server must differ. */
function groupVersionWord({ group, version }: Pick<Kind, 'group' | 'version'>): string {
  const labels = group === '' ? ['core'] : group.replace(/\.k8s\.io$/, '').split('.');
  return [...labels, version].map(upper).join('');
}

function upper(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
