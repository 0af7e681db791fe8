// Describes host values that cannot be carried back to the virtual object, for the event, the log and status. Pure.
import { andMore } from '../../object/text/in-words.ts';
import { shownKey } from './excerpt.ts';
import type { BackflowFailures, BackKey, BackValues, PatchFailure } from './step.ts';

/** In virtual spelling, because the tenant reads the message and must not learn host names. */
export interface BackflowFailure extends BackKey {
  failure: PatchFailure;
}

export function keysIn({ labels, annotations }: BackValues): BackKey[] {
  return [
    ...[...labels.keys()].map((key) => ({ map: 'label' as const, key })),
    ...[...annotations.keys()].map((key) => ({ map: 'annotation' as const, key })),
  ];
}

export function isSameKey(one: BackKey, other: BackKey): boolean {
  return one.map === other.map && one.key === other.key;
}

/** The value of one key. */
export function onlyOf({ labels, annotations }: BackValues, { map, key }: BackKey): BackValues {
  const only = (values: BackValues['labels']) => new Map([...values].filter(([name]) => name === key));
  return map === 'label'
    ? { labels: only(labels), annotations: new Map() }
    : { labels: new Map(), annotations: only(annotations) };
}

export function shownKeys([first, ...others]: readonly BackKey[]): string {
  return first === undefined ? '' : `${first.map} "${shownKey(first.key)}"${andMore(others.length)}`;
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
  const all = backflowFailuresIn(failures);
  const [first] = all;
  if (first === undefined) return undefined;
  return `the host's change of ${shownKeys(all)} stays on the host: ${first.failure.message}`;
}

/** When to try again although neither side has changed: the sandbox or another object may have caused the failure. */
export function backflowRetryMs(failures: BackflowFailures | undefined): number | undefined {
  const waits = backflowFailuresIn(failures).flatMap(({ failure }) => failure.retryAfterMs ?? []);
  return waits.length === 0 ? undefined : Math.min(...waits);
}
