// What the replicas of a store have said of themselves, also those that do not run, and which of them run. In: settings, or what a store
// hears. Out: the words of each by its name. To read the words opens no store, so that it works beside a running replica.
import { type Clock, pause } from '../../../clock.ts';
import { openCredentials } from '../../../cluster/credentials/credentials.ts';
import { listPages } from '../../../cluster/window/list-pages.ts';
import { openConnection } from '../../../cluster/wire/transport.ts';
import type { KubernetesStoreSettings } from '../../../config/settings/management-settings.ts';
import { silentLog } from '../../../log.ts';
import { StoreFault } from '../../../store/errors.ts';
import type { KubernetesStore } from '../../../store/kubernetes/kubernetes-store.ts';
import type { LiveReplicas } from '../../../store/kubernetes/live-replicas.ts';
import { readRecord } from '../../../store/kubernetes/records/record-format.ts';
import { recordLabel, recordOf, secretsResource } from './records/host-secrets.ts';
import { type ReplicaWords, wordsIn } from './shared-store.ts';

export async function knownReplicas(
  { kubeconfig, namespace }: KubernetesStoreSettings,
  { clock, environment }: { clock: Clock; environment: Readonly<Record<string, string | undefined>> },
): Promise<Map<string, ReplicaWords>> {
  const failed = (why: string) =>
    new StoreFault('STORE_OPEN_FAILED', `Cannot ask the store in namespace "${namespace}": ${why}`);
  const opened = await openCredentials({ kubeconfig, environment });
  if (opened.kind === 'faults') throw failed(opened.faults.map(({ message, fix }) => `${message}; ${fix}`).join('; '));
  const connection = openConnection({ name: 'store', credentials: opened.credentials, clock, log: silentLog });
  const replicas = new Map<string, ReplicaWords>();
  try {
    const end = await listPages({
      connection,
      scope: { ref: secretsResource, namespace, labelSelector: `${recordLabel}=true`, fieldSelector: undefined },
      signal: new AbortController().signal,
      page: () => undefined,
      accept(object) {
        const found = recordOf(object);
        const read = found && readRecord(found, 0);
        if (read?.kind === 'replica') replicas.set(read.replica, wordsIn(read.about));
      },
    });
    if (end.kind === 'listed') return replicas;
    if (end.kind === 'failed') throw failed(end.answer.kind === 'notSent' ? 'not sent' : end.answer.message);
    throw failed('message' in end ? end.message : 'interrupted');
  } finally {
    await connection.close();
  }
}

/** A heartbeat and a half. */
const beatWithinMs = 3_000;
const lookEveryMs = 20;

/** Another replica than this one. One whose last word is of an epoch that is over does not run, or it would have heard of the next one. */
export async function runningBeside(
  own: string,
  { replicas, formerEpochs }: Pick<KubernetesStore, 'replicas' | 'formerEpochs'>,
  clock: Clock,
): Promise<string | undefined> {
  const isPast = (epoch: string | undefined) => epoch !== undefined && formerEpochs.includes(epoch);
  const isOther = (replica: string) => replica !== own;
  if (![...replicas.epochs].some(([replica, epoch]) => isOther(replica) && !isPast(epoch))) return undefined;
  return heardToWrite(replicas, { isWanted: isOther, withinMs: beatWithinMs, clock });
}

/** The first one that is heard to write; undefined when none is, in this time. */
export async function heardToWrite(
  replicas: Pick<LiveReplicas, 'beating'>,
  {
    isWanted,
    withinMs,
    clock,
  }: { isWanted: (replica: string, words: ReplicaWords) => boolean; withinMs: number; clock: Clock },
): Promise<string | undefined> {
  let isOver = false;
  const timer = clock.after(withinMs, () => {
    isOver = true;
  });
  for (;;) {
    const found = [...replicas.beating].find(([replica, about]) => isWanted(replica, wordsIn(about)));
    if (found !== undefined || isOver) {
      timer.cancel();
      return found?.[0];
    }
    await pause(clock, lookEveryMs);
  }
}
