// Asks a server whether its versions have gone back. A server that was restored from a backup accepts a watch from a version that
// it has not reached yet, and stays silent. So the question is put after a silence or an outage.
import type { Connection } from '../wire/connection.ts';
import { listPath, type WindowScope } from '../wire/scope.ts';
import { wentBack } from './event-intake.ts';
import { readList } from './list-pages.ts';
import type { WatchEnd } from './reflector-steps.ts';
import { compareVersions } from './text/resource-version.ts';

/** The check asks for one object at most, so a server that needs longer is overloaded. */
const versionCheckTimeoutMs = 15_000;

export interface VersionCheck {
  connection: Connection;
  scope: WindowScope;
  signal: AbortSignal;
  /** The newest version that is known to exist. */
  known: string;
}

/** Undefined when the server is at the known version or beyond. */
export async function checkVersion({ connection, scope, signal, known }: VersionCheck): Promise<WatchEnd | undefined> {
  const path = listPath(scope, { limit: 1, continueToken: undefined });
  const answer = await connection.request({ method: 'GET', path, signal, timeoutMs: versionCheckTimeoutMs });
  if (signal.aborted) return { kind: 'aborted' };
  if (answer.kind === 'throttled' || answer.kind === 'failed')
    return {
      kind: answer.kind,
      retryAfterMs: answer.retryAfterMs,
      message: answer.message,
      isAnswered: answer.kind === 'throttled' || answer.status !== undefined,
    };
  // A server that has just started refuses every client, so a refusal proves nothing about its versions.
  if (answer.kind === 'forbidden' || answer.kind === 'unauthorized')
    return {
      kind: 'failed',
      retryAfterMs: undefined,
      message: answer.message,
      isAnswered: true,
      isForbidden: answer.kind === 'forbidden',
    };
  if (answer.kind !== 'ok') return undefined;
  const list = readList(answer.object, scope.ref);
  if (list.kind === 'fault') return list;
  return compareVersions(list.resourceVersion, known) < 0 ? wentBack(list.resourceVersion, known) : undefined;
}
