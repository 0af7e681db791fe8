// Plays the plan of a seed on a store and writes down what happened.
import type { History } from '../history.ts';
import type { Stage, Subject } from '../subjects/subject.ts';
import { Client } from './client.ts';
import { verdictOf } from './patience.ts';
import { type Blow, type Plan, planOf } from './plan.ts';
import { Recorder } from './recorder.ts';

/** Under every prefix that is watched is one of them. */
const markerKeys = ['/a/10', '/b/1'] as const;

export async function play(subject: Subject, seed: number): Promise<{ plan: Plan; history: History }> {
  const plan = planOf(seed, subject.promises);
  const stage = await subject.open();
  const history: History = {
    store: subject.name,
    seed,
    promises: subject.promises,
    operations: [],
    watches: [],
    kills: 0,
    cuts: 0,
    base: 0,
    troubles: [],
    unjudged: [],
  };
  try {
    await perform({ stage, plan, history });
  } catch (error) {
    // Such as a process that has ended by itself.
    history.troubles.push(`the store failed: ${String(error)}`);
  }
  return { plan, history };
}

async function perform({ stage, plan, history }: { stage: Stage; plan: Plan; history: History }): Promise<void> {
  const begun = await stage.reach(0).ask({ verb: 'revision' });
  if (begun.kind === 'revision') history.base = begun.revision;
  let blows: Promise<void> = Promise.resolve();
  const strike = ({ does, moment, whom, forMs = 0 }: Blow): void => {
    // A process is killed or stopped at this very moment; what else waits for it.
    const struck =
      does === 'kill'
        ? stage.kill?.(moment, whom)
        : does === 'freeze'
          ? stage.freeze?.(forMs, moment)
          : does === 'lag'
            ? stage.lag?.(forMs)
            : blows.then(() => (does === 'cut' ? stage.cut?.() : stage.fill?.(does === 'fill')));
    if (does === 'kill') history.kills++;
    if (does === 'cut') history.cuts++;
    if (does === 'freeze') history.freezes = (history.freezes ?? 0) + 1;
    blows = Promise.all([blows, struck]).then(
      () => undefined,
      (error: unknown) => void history.troubles.push(`${does}: ${String(error)}`),
    );
  };
  const recorder = new Recorder({ history, blows: plan.blows, strike });
  const clients = plan.clients.map((_, id) => new Client(id, stage.reach(id), recorder, plan));
  await Promise.all(clients.map((client, id) => client.play(plan.clients[id] ?? [])));
  await recorder.calm();
  await blows;
  await stage.fill?.(false);
  history.aside = (await stage.tidy?.()) ?? 0;
  const last = new Client(clients.length, stage.reach(0), recorder);
  if (plan.end === 'burst') await last.writeMuch();
  if (plan.end === 'forgotten') {
    await last.forgetAll();
    if (stage.kill !== undefined) history.kills++;
    await stage.kill?.();
  }
  const markers = new Map<string, number>();
  for (const key of markerKeys) {
    const answered = await last.write(key, undefined, false);
    if (answered.kind === 'written') markers.set(key, answered.revision);
    else history.troubles.push(`the last write of ${key} was answered ${JSON.stringify(answered)}`);
  }
  await last.witness();
  const over = new AbortController();
  const asks = async () => {
    // Clients are shared out among the replicas by their numbers.
    const answers = await Promise.all([0, 1].map((id) => stage.reach(id).ask({ verb: 'revision' })));
    return answers.every(({ kind }) => kind === 'revision');
  };
  const late = verdictOf({ asks, isOver: over.signal });
  for (const client of [...clients, last]) await client.rest(markers, late);
  over.abort();
  history.late = (await stage.late?.()) ?? 0;
  await stage.close();
}
