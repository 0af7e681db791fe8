// Tries the patches forward on the virtual object as it would be with the host's values. A value that makes a patch fail there
// would stop everything that flows forward, so the tenant does not get it. The same try shows which keys belong to a patch of a
// whole map without a reverse expression. Writes nothing.
import { type Draft, draftHost } from '../../plan/draft.ts';
import { mapOfKeys } from '../../plan/keys/key-rules.ts';
import type { VirtualItem } from '../../plan/kind.ts';
import type { BackValues, PatchFailure } from '../../plan/step.ts';
import type { ForwardInput } from '../entry/pass.ts';
import { type MapName, mapNames } from '../set/changed-parts.ts';
import type { BackInput, Reversed } from './back-types.ts';

type Tried = { kind: 'patched'; draft: Draft } | { kind: 'failed'; failure: PatchFailure };

export interface TryForwardOptions {
  forward(input: ForwardInput): Tried | Promise<Tried>;
  /** Whether some patch of a whole map has no reverse expression; see key-owners.ts. */
  mayOwnAnyKey: boolean;
}

/** More values than this are held back together: each would be one more try of all patches. */
const isolatedValues = 32;

export async function tryForward(
  input: BackInput,
  reversed: Reversed,
  { forward, mayOwnAnyKey }: TryForwardOptions,
): Promise<Reversed> {
  const tryWith = async (values: BackValues, isKept = false): Promise<Tried> =>
    forward(withValues(input, values, isKept));
  const accepted = await acceptable(reversed, (values) => tryWith(values));
  if (!mayOwnAnyKey || sizeOf(accepted.values) === 0) return accepted;
  // A key that the host removed stays in this trial, because a patch shows that it owns a key by changing it.
  const owning = await tryWith(accepted.values, true);
  return owning.kind === 'failed'
    ? withFailure(accepted, accepted.values, owning.failure)
    : { ...accepted, ownerOf: owning.draft.ownerOf };
}

/** Keeps the values with which the patches succeed, and marks the others as failed. */
async function acceptable(
  reversed: Reversed,
  tryWith: (values: BackValues) => Tried | Promise<Tried>,
): Promise<Reversed> {
  const { values } = reversed;
  const size = sizeOf(values);
  const whole = size === 0 ? undefined : await tryWith(values);
  if (whole === undefined || whole.kind === 'patched') return reversed;
  const { failure } = whole;
  // A failure that the sandbox or another object may have caused does not show which value is wrong.
  if (size === 1 || size > isolatedValues || failure.retryAfterMs !== undefined)
    return withFailure(reversed, values, failure);
  let accepted: Reversed = { ...reversed, values: { labels: new Map(), annotations: new Map() } };
  for (const map of mapNames) {
    for (const [key, value] of values[map]) {
      const one = { labels: new Map(), annotations: new Map(), [map]: new Map([[key, value]]) };
      const more = joined(accepted.values, one);
      const tried = await tryWith(more);
      accepted = tried.kind === 'patched' ? { ...accepted, values: more } : withFailure(accepted, one, tried.failure);
    }
  }
  return accepted;
}

function withFailure(reversed: Reversed, refused: BackValues, { message, ...failure }: PatchFailure): Reversed {
  const why = { ...failure, message: `with it the virtual object could not be patched: ${message}` };
  const failures = { labels: new Map(reversed.failures.labels), annotations: new Map(reversed.failures.annotations) };
  const values = joined(reversed.values, { labels: new Map(), annotations: new Map() });
  for (const map of mapNames) {
    for (const key of refused[map].keys()) {
      failures[map].set(key, why);
      values[map].delete(key);
    }
  }
  return { ...reversed, values, failures };
}

function joined(one: BackValues, other: BackValues): BackValues {
  return {
    labels: new Map([...one.labels, ...other.labels]),
    annotations: new Map([...one.annotations, ...other.annotations]),
  };
}

function sizeOf({ labels, annotations }: BackValues): number {
  return labels.size + annotations.size;
}

/** The input of a trial: the virtual object as it would be with the values. With isKept, removed keys stay. */
function withValues({ virtual, host, translation }: BackInput, values: BackValues, isKept: boolean): ForwardInput {
  const side = (map: MapName): VirtualItem[MapName] => {
    const all = new Map(mapOfKeys(virtual[map]));
    for (const [key, value] of values[map]) {
      if (value !== null) all.set(key, value);
      else if (!isKept) all.delete(key);
    }
    return Object.fromEntries(all);
  };
  const candidate = { ...virtual, labels: side('labels'), annotations: side('annotations') };
  const draft = draftHost(candidate, { namespace: host.namespace, name: host.name }, translation);
  return { virtual: candidate, host, draft, translation, isTrial: true };
}
