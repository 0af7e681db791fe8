// Grows the costliest of some bodies: takes a good one, changes the numbers of its recipes or its kind, and keeps what costs more for
// each byte. In: candidates and a way to weigh one. Out: the best. Its choices follow from a seed.
import { bodyText, type HostileCase, type Send, sizesIn, type Template, withSizes } from './hostile-body.ts';

export interface Candidate {
  name: string;
  send: Send;
  body: Template;
}

export interface Scored extends Candidate {
  /** Milliseconds on a processor beyond those of an empty request, for each KiB. */
  msPerKib: number;
  bytes: number;
}

/** A smaller body measures the request and not the body. */
const leastBytes = 2 * 1024;
/** Beyond the limit of a body nothing is looked at. */
const mostBytes = 64 * 1024;
const kept = 6;
const patchTypes = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'];
const bodyTypes = ['application/json', 'application/yaml'];

export async function search(
  cases: readonly HostileCase[],
  weigh: (candidate: Candidate) => Promise<number | undefined>,
  { untilMs, now, seed }: { untilMs: number; now: () => number; seed: number },
): Promise<{ best: readonly Scored[]; tried: number }> {
  const random = dice(seed);
  let best: Scored[] = [];
  let tried = 0;
  const tryOne = async (candidate: Candidate) => {
    const bytes = bodyText(candidate.body).length;
    if (bytes < leastBytes || bytes > mostBytes) return;
    tried++;
    const ms = await weigh(candidate);
    if (ms === undefined) return;
    const scored = { ...candidate, bytes, msPerKib: (ms * 1024) / bytes };
    best = [...best, scored].sort((a, b) => b.msPerKib - a.msPerKib).slice(0, kept);
  };
  for (const { name, send, body } of cases)
    if (send !== undefined && body !== undefined) await tryOne(fitted({ name, send, body }));
  while (now() < untilMs && best.length > 0) {
    const parent = best[Math.floor(random() * best.length)] as Scored;
    await tryOne(changed(parent, random));
  }
  return { best, tried };
}

/** A body that was refused for its size is tried again below the limit. */
function fitted(candidate: Candidate): Candidate {
  let { body } = candidate;
  for (let turn = 0; turn < 20 && bodyText(body).length > mostBytes; turn++)
    body = withSizes(
      body,
      sizesIn(body).map((size) => Math.max(1, Math.floor(size * 0.7))),
    );
  return { ...candidate, body };
}

function changed({ name, send, body }: Candidate, random: () => number): Candidate {
  const sizes = sizesIn(body);
  const at = Math.floor(random() * (sizes.length + 1));
  if (at === sizes.length) return { name, body, send: { ...send, type: otherType(send.type, random) } };
  const factor = 4 ** (random() * 2 - 1);
  const grown = sizes.map((size, each) => (each === at ? Math.max(1, Math.round(size * factor)) : size));
  return fitted({ name, send, body: withSizes(body, grown) });
}

function otherType(type: string, random: () => number): string {
  const types = patchTypes.includes(type) ? patchTypes : bodyTypes;
  return types[Math.floor(random() * types.length)] as string;
}

/** A linear congruential generator: the same search each time, as far as the machine allows. */
function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
