// Reads the heads of one consistent list, in pages with pauses between them, as they arrive: no page is kept and none is parsed.
// The server is asked for metadata alone; one that cannot leave out the rest sends whole objects, and they are stepped over.
import { type Clock, pause } from '../../clock.ts';
import type { Connection, WatchStreamEnd } from '../wire/connection.ts';
import { apiVersionOf, listPath, type ResourceRef, type WindowScope } from '../wire/scope.ts';
import { pageLimit } from './list-pages.ts';
import { HeadScanner, type ListedHead, type ListFrame } from './text/head-scanner.ts';
import { compareVersions, isVersion } from './text/resource-version.ts';

const metadataList = 'PartialObjectMetadataList';
/** The fallback is for servers that know no partial metadata; kube-apiserver knows it since 1.15. */
const accept = `application/json;as=${metadataList};g=meta.k8s.io;v=v1,application/json`;
/** A longer page would stall the event loop, so the next request asks for half as many objects. */
const pageBytesAim = 2 * 1024 * 1024;
/** 500 objects of 1.5 MiB exceed this limit; then the proof is given up. */
const pageBytesMax = 64 * 1024 * 1024;
/** Far beyond any real list. */
const pagesMax = 20_000;
/** A server forgets the state of a list within five to ten minutes. One that sends pages without end would hold up every proof. */
const listTimeMs = 10 * 60_000;
const headersTimeoutMs = 30_000;
const silenceMs = 15_000;
/** A server that sends a page drop by drop must not hold up the proof. */
const pageTimeoutMs = 60_000;

export type HeadsEnd =
  | { kind: 'read'; resourceVersion: string }
  /** 410 on a continue token. */
  | { kind: 'expired' | 'failed' | 'fault'; message: string }
  /** The page of an older state than one that is known to exist. */
  | { kind: 'older'; message: string }
  | { kind: 'aborted' };

export interface HeadPagesOptions {
  connection: Connection;
  scope: WindowScope;
  clock: Clock;
  signal: AbortSignal;
  /** The pages are read over this time. */
  spreadMs: number;
  /** How many objects are expected. */
  expected: number;
  /** The newest version that is known to exist: a consistent list is never older. */
  newestKnown: string;
  /** The heads of one page, all of the state at `resourceVersion`. */
  page(heads: readonly ListedHead[], resourceVersion: string): void;
}

export async function readHeadPages(options: HeadPagesOptions): Promise<HeadsEnd> {
  const { connection, scope, clock, signal, newestKnown } = options;
  const spreadEndMs = clock.now() + options.spreadMs;
  let seen = 0;
  const untilMs = clock.now() + listTimeMs;
  let limit = pageLimit;
  let continueToken: string | undefined;
  let resourceVersion: string | undefined;
  for (let page = 1; page <= pagesMax; page++) {
    const path = listPath(scope, { limit, continueToken });
    const read = await readPage({ connection, clock, signal }, path);
    if (signal.aborted) return { kind: 'aborted' };
    if (read.kind !== 'page') return read;
    const { frame } = read;
    if (!isListOf(frame, scope.ref))
      return { kind: 'fault', message: `wanted ${scope.ref.kind}List, found ${frame.kind} of ${frame.apiVersion}` };
    if (!isVersion(frame.resourceVersion) || !hasItems(frame))
      return { kind: 'fault', message: 'the list has no items or no usable resourceVersion' };
    resourceVersion ??= frame.resourceVersion;
    if (page === 1 && compareVersions(resourceVersion, newestKnown) < 0)
      return { kind: 'older', message: `the list has resource version ${resourceVersion}, older than ${newestKnown}` };
    options.page(read.heads, resourceVersion);
    if (frame.continueToken === '') return { kind: 'read', resourceVersion };
    if (frame.continueToken === continueToken) return { kind: 'fault', message: `page ${page} continues with itself` };
    if (clock.now() >= untilMs) return { kind: 'fault', message: `the list has no end after ${page} pages` };
    ({ continueToken } = frame);
    if (read.bytes > pageBytesAim) limit = Math.max(1, Math.floor(limit / 2));
    // Pages may be smaller than was asked for, and the objects more than was expected.
    seen += read.heads.length;
    const left = Math.max(1, Math.ceil((options.expected - seen) / Math.max(1, read.heads.length)));
    await pause(clock, Math.max(0, spreadEndMs - clock.now()) / (left + 1), signal);
    if (signal.aborted) return { kind: 'aborted' };
  }
  return { kind: 'fault', message: `gave up after ${pagesMax} pages` };
}

/** A server that knows partial metadata answers with a kind that says nothing about the resource. */
function isListOf({ kind, apiVersion }: ListFrame, ref: ResourceRef): boolean {
  if (kind === metadataList) return apiVersion === 'meta.k8s.io/v1';
  return kind === `${ref.kind}List` && apiVersion === apiVersionOf(ref);
}

/** kube-apiserver writes `null` for the items of a list of metadata that is empty, and a list for all others. */
function hasItems({ kind, items }: ListFrame): boolean {
  return items === 'list' || (items === 'null' && kind === metadataList);
}

type Page =
  | { kind: 'page'; frame: HeadScanner['frame']; heads: readonly ListedHead[]; bytes: number }
  | Exclude<HeadsEnd, { kind: 'read' | 'older' }>;

async function readPage(
  { connection, clock, signal }: Pick<HeadPagesOptions, 'connection' | 'clock' | 'signal'>,
  path: string,
): Promise<Page> {
  const heads: ListedHead[] = [];
  const scanner = new HeadScanner((head) => heads.push(head));
  let bytes = 0;
  const stream = connection.stream(
    { path, accept, headersTimeoutMs, silenceMs },
    {
      opened: () => undefined,
      data: (chunk) => {
        bytes += chunk.length;
        if (bytes > pageBytesMax) stream.abort();
        else scanner.feed(chunk);
      },
    },
  );
  const abort = (): void => stream.abort();
  const deadline = clock.after(pageTimeoutMs, abort);
  signal.addEventListener('abort', abort, { once: true });
  const end = await stream.ended;
  deadline.cancel();
  signal.removeEventListener('abort', abort);
  if (end.kind !== 'ended') return failureOf(end);
  const { fault, frame } = scanner;
  return fault === undefined ? { kind: 'page', frame, heads, bytes } : { kind: 'fault', message: fault };
}

function failureOf(end: Exclude<WatchStreamEnd, { kind: 'ended' }>): Exclude<Page, { kind: 'page' }> {
  if (end.kind === 'aborted') return { kind: 'failed', message: 'a page was too long or took too long' };
  if (end.kind !== 'answered') return { kind: 'failed', message: end.message };
  return { kind: end.answer.kind === 'gone' ? 'expired' : 'failed', message: end.answer.message };
}
