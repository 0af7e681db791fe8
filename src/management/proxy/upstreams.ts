// Keeps one connection for every kubeconfig in the configuration. A connection is opened at its first use, and again when the file
// changes. In: the present settings and a destination. Out: an upstream, or a Status with the reason.
import { stat } from 'node:fs/promises';
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import type { Clock } from '../../clock.ts';
import { openCredentials } from '../../cluster/credentials/credentials.ts';
import { RawConnection } from '../../cluster/wire/raw-connection.ts';
import type { Log } from '../../log.ts';
import { notFound, type Status } from '../../object/meta/status.ts';
import type { Directory } from '../scope/directory.ts';
import { type Destination, instanceResource, managementGroup } from '../scope/request.ts';
import type { Upstream } from './forward/forward.ts';
import { unavailable } from './forward/own-answers.ts';

export type ProxiedDestination = Exclude<Destination, { kind: 'Management' }>;

/** Callers get the Status; the reasons name files of this machine and are for operators. */
export class UnusableUpstream extends StatusFault {
  readonly reasons: readonly string[];

  constructor(name: string, reasons: readonly string[]) {
    super(unavailable(`the kubeconfig of ${name} cannot be used; the log of the server says why`));
    this.reasons = reasons;
  }
}

export interface UpstreamsOptions {
  directory: () => Directory;
  /** Exec plugins of kubeconfigs inherit it. */
  environment: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Log;
}

interface Opened {
  stamp: string;
  lookedAtMs: number;
  upstream: Promise<Upstream>;
}

/** Shortest interval between two looks at a kubeconfig file. */
const lookEveryMs = 1_000;

export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #opened = new Map<string, Opened>();

  constructor(options: UpstreamsOptions) {
    this.#options = options;
  }

  /** Throws a StatusFault: 404 for a name that is not configured, 503 for a place without a usable kubeconfig. */
  async upstreamOf(target: ProxiedDestination): Promise<Upstream> {
    const place = placeOf(this.#options.directory(), target);
    if (place === undefined) throw new StatusFault(notThere(target));
    const { name, kubeconfig, mendRights } = place;
    if (kubeconfig === undefined)
      throw new StatusFault(
        unavailable(`${name} has no kubeconfig in the configuration, so no request can be sent there`),
      );
    // Two entries may share a file, but messages name the entry.
    const key = `${name} ${kubeconfig}`;
    const opened = this.#opened.get(key);
    const nowMs = this.#options.clock.now();
    if (opened !== undefined && nowMs - opened.lookedAtMs < lookEveryMs) return opened.upstream;
    if (opened !== undefined) opened.lookedAtMs = nowMs;
    const stamp = await stampOf(kubeconfig);
    const current = this.#opened.get(key);
    if (current?.stamp === stamp) return current.upstream;
    this.#close(key);
    const upstream = this.#open(name, kubeconfig, mendRights);
    this.#opened.set(key, { stamp, lookedAtMs: nowMs, upstream });
    // The next request tries again, because the cause may be a file that the kubeconfig names.
    upstream.catch(() => this.#opened.get(key)?.upstream === upstream && this.#opened.delete(key));
    return upstream;
  }

  close(): void {
    for (const key of [...this.#opened.keys()]) this.#close(key);
  }

  #close(key: string): void {
    const opened = this.#opened.get(key);
    this.#opened.delete(key);
    opened?.upstream.then(
      ({ connection }) => connection.close(),
      () => undefined,
    );
  }

  async #open(name: string, kubeconfig: string, mendRights: string): Promise<Upstream> {
    const { environment, clock, log } = this.#options;
    const result = await openCredentials({ kubeconfig, environment });
    const actsForAnother =
      result.kind === 'ok' && 'impersonate-user' in (await result.credentials.read()).headers
        ? 'its user has the field "as", which would replace the impersonation of callers; remove it'
        : undefined;
    if (result.kind === 'faults' || actsForAnother !== undefined) {
      const faults = result.kind === 'faults' ? result.faults.map(({ message }) => message) : [actsForAnother ?? ''];
      log.error({ component: 'management', upstream: name, faults }, 'kubeconfig cannot be used');
      throw new UnusableUpstream(name, faults);
    }
    const connection = new RawConnection({ name, credentials: result.credentials, clock, log });
    return { name, connection, mendRights };
  }
}

/** The same answer for a hidden place and an absent place. */
export function notThere(target: ProxiedDestination): Status {
  switch (target.kind) {
    case 'Cluster':
      return notFound({ group: managementGroup, resource: 'clusters' }, target.cluster);
    case 'ProjectSpace':
      return notFound({ group: managementGroup, resource: 'spaces' }, target.space);
    case 'ProjectVirtualCluster':
      return notFound({ group: managementGroup, resource: instanceResource }, target.virtualCluster);
    default:
      return target satisfies never;
  }
}

/** Where the configuration says that the target is; undefined = it names no such place. */
export function placeOf(directory: Directory, target: ProxiedDestination) {
  if (target.kind === 'Cluster') return clusterPlace(directory, target.cluster);
  const project = directory.projects.get(target.project);
  if (target.kind === 'ProjectSpace') {
    const space = project?.spaces.find(({ name }) => name === target.space);
    return space === undefined ? undefined : clusterPlace(directory, space.cluster);
  }
  const virtualCluster = project?.virtualClusters.find(({ name }) => name === target.virtualCluster);
  if (virtualCluster === undefined) return undefined;
  const name = `${target.project}/${target.virtualCluster}`;
  const { kubeconfig } = virtualCluster;
  return { name: `virtual cluster ${name}`, kubeconfig, mendRights: mendRights(`--instance ${name}`) };
}

function clusterPlace(directory: Directory, name: string) {
  const cluster = directory.clusters.get(name);
  if (cluster === undefined) return undefined;
  const { kubeconfig } = cluster;
  return { name: `cluster ${name}`, kubeconfig, mendRights: mendRights(`--cluster ${name}`) };
}

/** The kubeconfig in the configuration may not grant: an administrator of the cluster has to. */
export function mendRights(which: string): string {
  return `hostward upstream-rbac ${which} --config FILE >rights.yaml && kubectl --kubeconfig ADMIN-THERE apply -f rights.yaml`;
}

async function stampOf(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return 'missing';
  }
}
