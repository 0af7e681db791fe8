// What the replicas of a store have said of themselves, also those that do not run: for commands that only look. In: settings. Out: the
// words of each by its name. Opens no store, so that it works beside a running replica.
import type { Clock } from '../../../clock.ts';
import { openCredentials } from '../../../cluster/credentials/credentials.ts';
import { listPages } from '../../../cluster/window/list-pages.ts';
import { openConnection } from '../../../cluster/wire/transport.ts';
import type { KubernetesStoreSettings } from '../../../config/settings/management-settings.ts';
import { silentLog } from '../../../log.ts';
import { StoreFault } from '../../../store/errors.ts';
import { readRecord } from '../../../store/kubernetes/record-format.ts';
import { recordLabel, recordOf, secretsResource } from './host-secrets.ts';
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
