// Describes host values that cannot be carried back to the virtual object, for the event, the log and status. Pure.
import { andMore } from '../../object/text/in-words.ts';
import { shownKey } from './excerpt.ts';
import type { BackflowFailures, PatchFailure } from './step.ts';

export interface BackflowFailure {
  map: 'label' | 'annotation';
  /** In virtual spelling, because the tenant reads the message and must not learn host names. */
  key: string;
  failure: PatchFailure;
}

export function backflowFailuresIn(failures: BackflowFailures | undefined): BackflowFailure[] {
  if (failures === undefined) return [];
  return [
    ...[...failures.labels].map(([key, failure]) => ({ map: 'label' as const, key, failure })),
    ...[...failures.annotations].map(([key, failure]) => ({ map: 'annotation' as const, key, failure })),
  ];
}

/** One sentence for the event, the log and status; undefined when nothing failed. */
export function backflowMessage(failures: BackflowFailures | undefined): string | undefined {
  const [first, ...others] = backflowFailuresIn(failures);
  if (first === undefined) return undefined;
  const keys = `${first.map} "${shownKey(first.key)}"${andMore(others.length)}`;
  return `the host's change of ${keys} stays on the host: ${first.failure.message}`;
}

/** When to try again although neither side has changed: the sandbox or another object may have caused the failure. */
export function backflowRetryMs(failures: BackflowFailures | undefined): number | undefined {
  const waits = backflowFailuresIn(failures).flatMap(({ failure }) => failure.retryAfterMs ?? []);
  return waits.length === 0 ? undefined : Math.min(...waits);
}
