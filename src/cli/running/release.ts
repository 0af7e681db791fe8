// `hostward release`: hands the host objects back to vCluster, or removes the copies. In: a configuration. Out: host objects
// without our annotations, or no copies at all, and an exit code. It must never write while a daemon runs.

import { openCredentials } from '../../cluster/credentials/credentials.ts';
import { leasesResource, namespacesResource } from '../../cluster/wire/scope.ts';
import { openConnection } from '../../cluster/wire/transport.ts';
import { mappingsOf } from '../../config/settings/host-namespaces.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { needsLease } from '../../daemon/clusters/lease.ts';
import { silentLog } from '../../log.ts';
import { keyOf } from '../../object/meta/object.ts';
import { ClusterClient, faultOf } from '../line/cluster-client.ts';
import { clusterFault } from '../line/cluster-fault.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import { requireSettings } from '../line/load-settings.ts';
import type { Options } from '../line/parse-arguments.ts';
import { askDaemon, localAddress } from './ask-daemon.ts';
import { type Released, releaseAll } from './release-objects.ts';

export async function release(context: Context, options: Options): Promise<ExitCode> {
  const { settings } = await requireSettings(context, options);
  const host = await openCluster(context, { name: 'host', kubeconfig: settings.hostKubeconfig });
  const stopped = new AbortController();
  const forgetStop = context.onSignal('stop', () => stopped.abort());
  try {
    const how = { isDelete: options.has('delete'), isDryRun: options.has('dry-run') };
    if (!how.isDryRun) await refuseWhileRunning(context, host, settings);
    const released = await releaseAll(context, host, { settings, ...how, signal: stopped.signal });
    if (released.seen === 0 && !released.isCut) await refuseMissingNamespace(host, settings);
    print(context, released, { ...how, isJson: options.choice('output') === 'json' });
    if (released.seen === 0 && released.failed.length === 0 && !released.isCut)
      context.stderr.write(`${nothingNote(settings)}\n`);
    if (!how.isDelete && mappingsOf(settings) !== undefined) context.stderr.write(`${mappedNote}\n`);
    return released.failed.length > 0 || released.isCut ? exitCodes.environment : exitCodes.fine;
  } finally {
    forgetStop();
    await host.close();
  }
}

const leftNote =
  'what was left alone stays on the host: correct its marks and run the command again, or delete it with kubectl if nobody needs it';

/** Their owner is in an annotation that goes too. */
const mappedNote =
  'hostward takes released copies in mapped namespaces over again only when they get hostward.dev/instance back: hostward docs migrate';

/** Who uninstalls by a script with a misspelt name would believe that the copies are gone. */
async function refuseMissingNamespace(host: ClusterClient, { hostNamespace }: Settings): Promise<void> {
  const answer = await host.get(namespacesResource, { namespace: '', name: hostNamespace });
  if (answer.kind !== 'notFound') return;
  throw new CommandFault(exitCodes.environment, `the host has no namespace "${hostNamespace}"`, {
    hint: 'name the namespace that the virtual cluster runs in with --host-namespace; copies go with their namespace when it is deleted',
  });
}

function nothingNote(settings: Settings): string {
  const where =
    mappingsOf(settings) === undefined ? `namespace ${settings.hostNamespace}` : 'the host namespaces of its mappings';
  return `nothing in ${where} bears the marks of a virtual cluster "${settings.virtualClusterName}"; if there should be copies, check --vcluster-name and --host-namespace`;
}

/** A running daemon would put everything back. A daemon without a lease is found only on this machine. */
async function refuseWhileRunning(context: Context, host: ClusterClient, settings: Settings): Promise<void> {
  await refuseBeside(context, settings);
  const place = { namespace: settings.hostNamespace, name: `hostward-${settings.virtualClusterName}` };
  const answer = await host.get(leasesResource, place);
  if (answer.kind === 'notFound') return;
  if (answer.kind !== 'ok') {
    if (!needsLease(settings, false)) return;
    throw new CommandFault(
      exitCodes.environment,
      `nobody knows whether a daemon runs: ${faultOf(answer, `get leases.coordination.k8s.io ${keyOf(place.namespace, place.name)}`).message}`,
      { hint: 'use a kubeconfig that may get leases there; beside a running daemon everything would be put back' },
    );
  }
  const spec = answer.object['spec'] as
    | { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number }
    | undefined;
  if (!spec?.holderIdentity || spec.renewTime === undefined) return;
  const endsMs = Date.parse(spec.renewTime) + (spec.leaseDurationSeconds ?? 0) * 1000;
  if (!(endsMs > context.clock.wallTime().getTime())) return;
  throw new CommandFault(
    exitCodes.environment,
    `"${spec.holderIdentity}" runs and holds the lease ${keyOf(place.namespace, place.name)}`,
    { hint: 'stop the daemon first; otherwise it puts everything back' },
  );
}

async function refuseBeside(context: Context, settings: Settings): Promise<void> {
  const address = localAddress(settings.listen);
  const answer = await askDaemon(context, address, '/status').catch(() => undefined);
  if (answer?.value['virtualCluster'] !== settings.virtualClusterName) return;
  if (answer.value['hostNamespace'] !== settings.hostNamespace || answer.value['isDryRun'] === true) return;
  throw new CommandFault(
    exitCodes.environment,
    `a daemon of virtual cluster "${settings.virtualClusterName}" runs on ${address}`,
    { hint: 'stop the daemon first; otherwise it puts everything back' },
  );
}

function print(
  context: Context,
  released: Released,
  how: { isDelete: boolean; isDryRun: boolean; isJson: boolean },
): void {
  if (how.isJson) {
    context.stdout.write(`${JSON.stringify(released, undefined, 2)}\n`);
    return;
  }
  const verb = `${how.isDryRun ? 'would be ' : ''}${how.isDelete ? 'deleted' : 'released'}`;
  for (const name of released.done) context.stdout.write(`${verb} ${name}\n`);
  for (const { object, why } of released.left) context.stdout.write(`left alone ${object}: ${why}\n`);
  for (const { object, why } of released.failed) context.stderr.write(`failed ${object}: ${why}\n`);
  const { done, left, failed, isCut } = released;
  context.stdout.write(`${done.length} ${verb}, ${left.length} left alone, ${failed.length} failed\n`);
  if (how.isDelete && !how.isDryRun && left.length > 0) context.stderr.write(`${leftNote}\n`);
  if (isCut) context.stderr.write('stopped before all objects were looked at; run the command again for the rest\n');
}

/** Opens a client for one of the two clusters of a configuration, or throws the faults. */
export async function openCluster(context: Context, options: { name: string; kubeconfig: string | undefined }) {
  const { environment, clock, version } = context;
  const opened = await openCredentials({ kubeconfig: options.kubeconfig, environment });
  if (opened.kind === 'faults') throw clusterFault(opened.faults);
  const { credentials } = opened;
  return new ClusterClient(openConnection({ name: options.name, credentials, clock, log: silentLog, version }));
}
