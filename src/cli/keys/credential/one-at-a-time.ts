// Lets one process of several do a piece of work whose result all of them can use, as when make starts many kubectl at once and each
// starts the plugin. In: the path of a lock file, a look for the result, and the work. Out: the result. A lock that cannot be made
// is no lock: then each process works for itself.
import { randomUUID } from 'node:crypto';
import { pause } from '../../../clock.ts';
import type { Context } from '../../line/context.ts';
import { systemFault } from '../../line/system-fault.ts';

interface Work<T> {
  /** Undefined = the result is not there, so it must be made. */
  look(): Promise<T | undefined>;
  /** Leaves the result where `look` finds it. */
  make(): Promise<T>;
}

const pollMs = 50;
/** A lock that stays the same for so long was left by a process that was killed. A server answers within a second; if it takes longer,
 * two processes do the work, which does no harm. */
const staleMs = 5_000;
/** When a lock is left, several processes may take it over: the last one to write it has it. */
const settleMs = 200;
/** Then the work is done without a lock: other processes may be waiting for a server that does not answer. */
const patienceMs = 12_000;

export async function oneAtATime<T>(context: Context, path: string, { look, make }: Work<T>): Promise<T> {
  const { clock, files } = context;
  const found = await look();
  if (found !== undefined) return found;
  const own = randomUUID();
  const endMs = clock.now() + patienceMs;
  let seen = { text: '', sinceMs: clock.now() };
  while (clock.now() < endMs) {
    const taken = await take(context, path, own);
    if (taken === 'impossible') return make();
    if (taken) return whileTaken(context, { path, own }, { look, make });
    await pause(clock, pollMs);
    const text = await files.read(path).catch(() => '');
    // A lock that is gone means that its owner is done.
    const result = text === '' ? await look() : undefined;
    if (result !== undefined) return result;
    if (text !== seen.text) seen = { text, sinceMs: clock.now() };
    else if (clock.now() - seen.sinceMs >= staleMs && (await takeOver(context, path, own)))
      return whileTaken(context, { path, own }, { look, make });
  }
  return make();
}

/** The process before may have made the result. */
async function whileTaken<T>(
  context: Context,
  { path, own }: { path: string; own: string },
  { look, make }: Work<T>,
): Promise<T> {
  try {
    return (await look()) ?? (await make());
  } finally {
    if (await isOwn(context, path, own)) await context.files.remove(path).catch(() => undefined);
  }
}

async function take({ files }: Context, path: string, own: string): Promise<boolean | 'impossible'> {
  try {
    return await files.create(path, own, { mode: 0o600 });
  } catch (error) {
    if (systemFault(error) === undefined) throw error;
    return 'impossible';
  }
}

async function takeOver(context: Context, path: string, own: string): Promise<boolean> {
  try {
    await context.files.write(path, own, { mode: 0o600 });
  } catch (error) {
    if (systemFault(error) === undefined) throw error;
    return false;
  }
  await pause(context.clock, settleMs);
  return isOwn(context, path, own);
}

async function isOwn({ files }: Context, path: string, own: string): Promise<boolean> {
  return (await files.read(path).catch(() => '')) === own;
}
