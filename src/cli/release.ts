// `hostward release`: gives the host objects back. In: a configuration and the host. Out: our annotations taken off, so that
// vCluster can go on with the same objects, or the copies removed; only what is provably ours, each with preconditions.

import { pause } from '../clock.ts';
import { endpointsResource, leasesResource } from '../cluster/writer.ts';
import type { Settings } from '../config/settings.ts';
import { type KubeObject, keyOf } from '../object/object.ts';
import { annotatedKeyOf, isOursFor } from '../sync/ownership.ts';
import type { Placement } from '../sync/placement.ts';
import { controlledByKey, markerLabel, pauseKey } from '../sync/words.ts';
import type { ClusterClient, Place } from './cluster-client.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './context.ts';
import { requireSettings } from './load-settings.ts';
import { openCluster } from './open-cluster.ts';
import type { Options } from './parse-arguments.ts';
import { rulesOf } from './rules-of.ts';

/** Enough to keep an API server busy without crowding out the cluster's own work. */
const inFlight = 8;
const triesPerObject = 5;
const defaultRetryMs = 1_000;

interface Released {
  done: string[];
  left: { object: string; why: string }[];
  failed: { object: string; why: string }[];
}

export async function release(context: Context, options: Options): Promise<ExitCode> {
  const { settings } = await requireSettings(context, options);
  const host = await openCluster(context, { name: 'host', kubeconfig: settings.hostKubeconfig });
  try {
    const how = { isDelete: options.has('delete'), isDryRun: options.has('dry-run') };
    if (!how.isDryRun) await refuseWhileRunning(context, host, settings);
    const released = await releaseAll(context, host, { settings, ...how });
    print(context, released, { ...how, isJson: options.choice('output') === 'json' });
    return released.failed.length > 0 ? exitCodes.environment : exitCodes.fine;
  } finally {
    await host.close();
  }
}

/** A daemon that lives would put everything back; one that takes a lease can be seen. */
async function refuseWhileRunning(context: Context, host: ClusterClient, settings: Settings): Promise<void> {
  const place = { namespace: settings.hostNamespace, name: `hostward-${settings.virtualClusterName}` };
  const answer = await host.get(leasesResource, place);
  if (answer.kind !== 'ok') return;
  const spec = answer.object['spec'] as
    | { holderIdentity?: string; renewTime?: string; leaseDurationSeconds?: number }
    | undefined;
  if (!spec?.holderIdentity || spec.renewTime === undefined) return;
  const endsMs = Date.parse(spec.renewTime) + (spec.leaseDurationSeconds ?? 0) * 1000;
  if (!(endsMs > context.clock.wallTime().getTime())) return;
  throw new CommandFault(
    exitCodes.environment,
    `"${spec.holderIdentity}" runs and holds the lease ${keyOf(place.namespace, place.name)}`,
    {
      hint: 'stop the daemon first, it would put everything back',
    },
  );
}

interface How {
  settings: Settings;
  isDelete: boolean;
  isDryRun: boolean;
}

async function releaseAll(context: Context, host: ClusterClient, how: How): Promise<Released> {
  const { placement } = rulesOf(how.settings).translation;
  const namespace = placement.mode === 'single' ? placement.hostNamespace : '';
  const labelSelector = `${markerLabel}=${placement.virtualCluster}`;
  const objects = await host.list(endpointsResource, namespace, { labelSelector });
  const released: Released = { done: [], left: [], failed: [] };
  const waiting = objects[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (const object of waiting) await releaseOne(context, host, object, { placement, ...how }, released);
  };
  await Promise.all(Array.from({ length: inFlight }, work));
  for (const list of Object.values(released)) list.sort((a: unknown, b: unknown) => (nameOf(a) < nameOf(b) ? -1 : 1));
  return released;
}

function nameOf(entry: unknown): string {
  return typeof entry === 'string' ? entry : (entry as { object: string }).object;
}

async function releaseOne(
  context: Context,
  host: ClusterClient,
  listed: KubeObject,
  how: How & { placement: Placement },
  released: Released,
): Promise<void> {
  const place = placeOf(listed);
  const name = keyOf(place.namespace, place.name);
  const end = await pursue(context, host, listed, how);
  switch (end.kind) {
    case 'done':
      released.done.push(name);
      return;
    case 'left':
      released.left.push({ object: name, why: end.why });
      return;
    case 'failed':
      released.failed.push({ object: name, why: end.why });
      return;
    case 'nothing':
      return;
    default:
      return end satisfies never;
  }
}

type End = { kind: 'done' | 'nothing' } | { kind: 'left' | 'failed'; why: string };

/** Until it is written, or should not be, or cannot: what somebody else wrote in between is judged anew. */
async function pursue(
  context: Context,
  host: ClusterClient,
  listed: KubeObject,
  how: How & { placement: Placement },
): Promise<End> {
  const place = placeOf(listed);
  for (let attempt = 1, object = listed; ; attempt++) {
    const why = reasonToLeave(object, how);
    if (why !== undefined) return { kind: 'left', why };
    if (!how.isDelete && Object.keys(removed(object)).length === 0) return { kind: 'nothing' };
    if (how.isDryRun) return { kind: 'done' };
    const { uid = '', resourceVersion = '' } = object.metadata;
    const answer = how.isDelete
      ? await host.remove(endpointsResource, place, { uid, resourceVersion })
      : await host.change(endpointsResource, place, {
          metadata: { uid, resourceVersion, annotations: removed(object) },
        });
    if (answer.kind === 'ok') return { kind: 'done' };
    if (answer.kind === 'notFound') return { kind: 'nothing' };
    if (attempt >= triesPerObject || (answer.kind !== 'conflict' && answer.kind !== 'throttled')) {
      return { kind: 'failed', why: 'message' in answer ? answer.message : answer.reason };
    }
    if (answer.kind === 'throttled') await pause(context.clock, answer.retryAfterMs ?? defaultRetryMs);
    const fresh = await host.get(endpointsResource, place);
    if (fresh.kind === 'notFound') return { kind: 'nothing' };
    if (fresh.kind === 'ok') object = fresh.object;
  }
}

function reasonToLeave(
  object: KubeObject,
  { placement, isDelete }: How & { placement: Placement },
): string | undefined {
  const { labels = {}, annotations = {} } = object.metadata;
  const look = { ...placeOf(object), labels, annotations };
  const key = annotatedKeyOf(look);
  if (key === undefined || !isOursFor(look, key, placement)) return 'it is not provably ours';
  if (annotations[controlledByKey]) return `it is marked ${controlledByKey}="${annotations[controlledByKey]}"`;
  return isDelete && annotations[pauseKey] === 'true' ? `it is marked ${pauseKey}` : undefined;
}

/** Ours as nulls of a merge patch; the pause is the host people's own word. */
function removed(object: KubeObject): Record<string, null> {
  const ours = Object.keys(object.metadata.annotations ?? {}).filter(
    (key) => key.startsWith('hostward.dev/') && key !== pauseKey,
  );
  return Object.fromEntries(ours.map((key) => [key, null]));
}

function placeOf(object: KubeObject): Place {
  return { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' };
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
  const { done, left, failed } = released;
  context.stdout.write(`${done.length} ${verb}, ${left.length} left alone, ${failed.length} failed\n`);
}
