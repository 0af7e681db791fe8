// Reads one complete, consistent list page by page and passes each object on at once, so that a list of any length needs
// the memory of one page. Refuses every answer that is not a list of the right kind with a resource version.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KubeObject } from '../../object/meta/object.ts';
import type { Answer } from '../answer.ts';
import { excerpt } from '../errors.ts';
import { answerTooLong, type Connection } from '../wire/connection.ts';
import { isUnserved, unservedSentence } from '../wire/probe.ts';
import { apiVersionOf, listPath, type ResourceRef, type WindowScope } from '../wire/scope.ts';
import { isVersion } from './text/resource-version.ts';

/** The page size of client-go. */
export const pageLimit = 500;
/** Parsing a larger page stalls the event loop, so the next request asks for half as many objects. */
const pageBytesAim = 2 * 1024 * 1024;
/** 500 objects of 1.5 MiB exceed this limit: that page fails, and the next request asks for a smaller page. */
const pageBytesMax = 64 * 1024 * 1024;
/** Limits of a whole list, far beyond any real list: a server that sends pages without end must not fill our memory. */
const listItemsMax = 1_000_000;
const listPagesMax = 20_000;
const listBytesMax = 8 * 1024 * 1024 * 1024;
const pageTimeoutMs = 60_000;
/** Objects projected before the event loop gets its turn. */
const sliceItems = 250;

export type ListEnd =
  | { kind: 'listed'; resourceVersion: string; count: number }
  /** 410 on a continue token: begin again. */
  | { kind: 'expired'; message: string }
  | { kind: 'failed'; answer: Exclude<Answer, { kind: 'ok' | 'gone' }> }
  | { kind: 'fault'; message: string }
  | { kind: 'aborted' };

export interface ListOptions {
  connection: Connection;
  scope: WindowScope;
  signal: AbortSignal;
  page(number: number): void;
  accept(object: KubeObject): void;
}

export async function listPages(options: ListOptions): Promise<ListEnd> {
  const { connection, scope, signal } = options;
  let limit = pageLimit;
  let continueToken: string | undefined;
  let resourceVersion: string | undefined;
  let count = 0;
  let bytes = 0;
  for (let page = 1; ; page++) {
    if (page > listPagesMax || count > listItemsMax || bytes > listBytesMax)
      return {
        kind: 'fault',
        message: `${what(scope)}: gave up after ${page - 1} pages, ${count} objects and ${bytes} bytes`,
      };
    options.page(page);
    const path = listPath(scope, { limit, continueToken });
    const answer = await connection.request({
      method: 'GET',
      path,
      signal,
      timeoutMs: pageTimeoutMs,
      maxBytes: pageBytesMax,
    });
    if (signal.aborted) return { kind: 'aborted' };
    if (answer.kind === 'gone') return { kind: 'expired', message: answer.message };
    if (answer.kind !== 'ok') {
      if (answer.kind === 'refused' && answer.reason === answerTooLong && limit > 1) {
        limit = Math.max(1, Math.floor(limit / 8));
        continue;
      }
      const isOff = await isUnserved(connection, scope.ref, { answer, signal });
      if (signal.aborted) return { kind: 'aborted' };
      if (!isOff) return { kind: 'failed', answer };
      return { kind: 'failed', answer: { kind: 'notFound', message: unservedSentence(connection, scope.ref) } };
    }
    const list = readList(answer.object, scope.ref);
    if (list.kind === 'fault') return { kind: 'fault', message: `${what(scope)}: ${list.message}` };
    resourceVersion ??= list.resourceVersion;
    const problem = await acceptItems(list.items, options);
    if (signal.aborted) return { kind: 'aborted' };
    if (problem !== undefined) return { kind: 'fault', message: `${what(scope)}: ${problem}` };
    count += list.items.length;
    bytes += answer.bytes ?? 0;
    if ((answer.bytes ?? 0) > pageBytesAim) limit = Math.max(1, Math.floor(limit / 2));
    if (list.continueToken === undefined) return { kind: 'listed', resourceVersion, count };
    if (list.continueToken === continueToken)
      return { kind: 'fault', message: `${what(scope)}: page ${page} continues with itself` };
    continueToken = list.continueToken;
  }
}

async function acceptItems(items: readonly unknown[], options: ListOptions): Promise<string | undefined> {
  for (let index = 0; index < items.length; index++) {
    if (index > 0 && index % sliceItems === 0) await nextTurn();
    const item = items[index] as KubeObject;
    const problem = objectProblem(item, options.scope);
    if (problem !== undefined) return `item ${index} ${problem}`;
    options.accept(item);
  }
  return undefined;
}

type ListRead =
  | {
      kind: 'list';
      resourceVersion: string;
      items: readonly unknown[];
      continueToken: string | undefined;
    }
  | { kind: 'fault'; message: string };

/** An answer of another kind, or without items, would look like a list of an empty cluster. */
export function readList(object: KubeObject, ref: ResourceRef): ListRead {
  const wanted = `wanted ${ref.kind}List of ${apiVersionOf(ref)}`;
  if (object.kind !== `${ref.kind}List` || object.apiVersion !== apiVersionOf(ref)) {
    const found = `${String(object.kind ?? 'no kind')} of ${String(object.apiVersion ?? 'no apiVersion')}`;
    return { kind: 'fault', message: `${wanted}, found ${excerpt(found, 120)}` };
  }
  const metadata: { resourceVersion?: unknown; continue?: unknown; remainingItemCount?: unknown } =
    object.metadata ?? {};
  if (!isVersion(metadata.resourceVersion))
    return { kind: 'fault', message: 'the list has no usable metadata.resourceVersion' };
  const { items } = object;
  if (!Array.isArray(items)) return { kind: 'fault', message: `${wanted} with items, found a list without them` };
  const continueToken =
    typeof metadata.continue === 'string' && metadata.continue !== '' ? metadata.continue : undefined;
  if (continueToken === undefined && Number(metadata.remainingItemCount ?? 0) > 0)
    return { kind: 'fault', message: 'the list has more objects, and no token to ask for them' };
  return { kind: 'list', resourceVersion: metadata.resourceVersion, items, continueToken };
}

/** The reason why the value is not an object of the scope; undefined for a good object. */
export function objectProblem(object: unknown, scope: WindowScope): string | undefined {
  if (typeof object !== 'object' || object === null || !('metadata' in object)) return 'is not an object with metadata';
  const kind = kindProblem(object, scope.ref);
  if (kind !== undefined) return kind;
  const metadata = object.metadata as KubeObject['metadata'] | null;
  if (typeof metadata !== 'object' || metadata === null) return 'has no metadata';
  if (typeof metadata.name !== 'string' || metadata.name === '') return 'has no name';
  if (typeof metadata.uid !== 'string' || metadata.uid === '') return 'has no uid';
  if (!isVersion(metadata.resourceVersion)) return 'has no usable resourceVersion';
  if (scope.namespace !== undefined && metadata.namespace !== scope.namespace)
    return `is not in the namespace "${scope.namespace}" that was asked for`;
  return undefined;
}

/** The items of a list carry no kind of their own; one that is there must be right. */
function kindProblem(object: object, ref: ResourceRef): string | undefined {
  const { kind = ref.kind, apiVersion = apiVersionOf(ref) } = object as { kind?: unknown; apiVersion?: unknown };
  if (kind === ref.kind && apiVersion === apiVersionOf(ref)) return undefined;
  return `is ${excerpt(`${String(kind)} of ${String(apiVersion)}`, 120)}, not ${ref.kind} of ${apiVersionOf(ref)}`;
}

function what(scope: WindowScope): string {
  const where = scope.namespace === undefined ? 'all namespaces' : `namespace "${scope.namespace}"`;
  return `listing ${scope.ref.resource} in ${where}`;
}
