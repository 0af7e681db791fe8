// The safety rules S1 to S8, on every request that a proxy sees. They know the API and the rules of DESIGN, and nothing of how the daemon works.

import type { World, WorldEars } from '../play/world.ts';
import { isWrite, type Passing } from '../proxy/passing.ts';
import type { Written } from '../stage/replayed-store.ts';
import type { RigResource } from '../stage/rig-cluster.ts';
import { registry } from '../stage/rig-cluster.ts';
import { type At, hostNamespace, leaseMsOf, virtualCluster } from '../traffic/acts.ts';
import type { Board } from './board.ts';
import { hasAllMarks, type Marked, ownedUidOf, ownerOf, versionIn, virtualKeyOf } from './marks.ts';

const synced: readonly string[] = ['endpoints', 'endpointslices'];
const content: readonly string[] = ['secrets', 'configmaps'];
/** Longer than any loss stays unseen: a proof a minute, and five seconds to believe it. */
const seenByThenMs = 90_000;
/** A connection that has fallen silent is given up after two bookmark intervals and a half; then the watch goes on where it was, a lag behind. */
const heardByThenMs = 155_000;
/** Where nothing is lost or late, everybody has seen a change by then. */
const seenSoonMs = 15_000;

interface Body {
  metadata?: Marked['metadata'] & { resourceVersion?: string };
  preconditions?: { uid?: string; resourceVersion?: string };
  [field: string]: unknown;
}

export class RequestOracle implements WorldEars {
  readonly #world: World;
  readonly #board: Board;
  /** By virtual kind, key and uid: the newest version that was written to the host. */
  readonly #newest = new Map<string, number>();
  /** By daemon: when it sent the last renewal of its lease that was answered. */
  readonly #provenMs = new Map<string, number>();
  /** After a restore from a backup older translations are right again. */
  hasTurnedBack = false;
  /** A daemon without a memory cannot know that its first list is old. */
  wasLiedTo = false;
  /** Something is left of a fault that may keep changes from a daemon for a while, or that tells it what is not so. */
  isDisturbed = false;
  isSilenced = false;
  isLiedTo = false;

  constructor(world: World, board: Board) {
    this.#world = world;
    this.#board = board;
  }

  passed(passing: Passing): void {
    if (!this.#world.isTrusted(passing.side))
      this.#board.say(
        'S8',
        'untrusted server',
        `${passing.daemon} speaks to the ${passing.side} cluster, whose certificate it has to refuse: ${passing.path}`,
      );
    if (!isWrite(passing)) return;
    const body = bodyOf(passing);
    const at = `${passing.method} ${passing.path.split('?')[0]} by ${passing.daemon}`;
    if (body === undefined) return void this.#board.say('S1', 'no JSON', `${at}: the body is no JSON object`);
    this.#lease(passing, at);
    if (passing.side === 'host') this.#host(passing, body, at);
    else this.#virtual(passing, body, at);
  }

  #lease({ daemon }: Passing, at: string): void {
    const { hostward } = this.#world.configuration as { hostward: { leaderElection: string } };
    // A restore from a backup takes a lease back that was won; its holder hears of it at the next renewal.
    if (hostward.leaderElection !== 'always' || this.hasTurnedBack) return;
    const key = `${registry.leases}/${hostNamespace}/hostward-${virtualCluster}`;
    const { written } = this.#world.clusters.host.store;
    const last = written.findLast((one) => one.key === key && one.after !== undefined);
    const holder = (last?.after?.['spec'] as { holderIdentity?: string } | undefined)?.holderIdentity ?? '';
    if (!holder.startsWith(`${daemon}_`)) {
      this.#board.say('S6', 'not the holder', `${at}: the lease is held by "${holder}"`);
    } else if (this.#world.clock.now() - (last?.atMs ?? 0) > leaseMsOf(this.#world.configuration)) {
      this.#board.say(
        'S6',
        'an old lease',
        `${at}: the lease was renewed ${this.#world.clock.now() - (last?.atMs ?? 0)} ms ago`,
      );
    } else if (this.#world.clock.now() - (this.#provenMs.get(daemon) ?? 0) > leaseMsOf(this.#world.configuration)) {
      this.#board.say(
        'S6',
        'an unproven lease',
        `${at}: the last renewal that was answered was sent at ${(this.#provenMs.get(daemon) ?? 0) / 1000} s`,
      );
    }
  }

  given({ verb, method, daemon, atMs }: Passing, status: number): void {
    if (verb === 'lease' && method !== 'GET' && status < 300) this.#provenMs.set(daemon, atMs);
  }

  #host(passing: Passing, body: Body, at: string): void {
    const { verb, method, resource, namespace, name } = passing;
    if (![...synced, ...content].includes(resource)) {
      return void this.#board.say('S1', `writes ${resource}`, `${at}: no ${resource} of the host is ours`);
    }
    const before = this.#world.clusters.host.find(resource as RigResource, namespace, name) as Marked | undefined;
    switch (verb) {
      case 'create':
        return void this.#create(passing, body, at);
      case 'delete': {
        const { uid, resourceVersion } = body.preconditions ?? {};
        if (uid === undefined || resourceVersion === undefined)
          return void this.#board.say('S3', 'no precondition', `${at}: a delete carries uid and resourceVersion`);
        if (before === undefined || !isSame(before, { uid, resourceVersion })) return;
        if (virtualKeyOf(before) === undefined)
          this.#board.say('S3', 'nameless', `${at}: the copy lacks object-name or object-namespace`);
        if (ownerOf(before, virtualCluster) !== 'ours')
          this.#board.say(
            'S1',
            `deletes ${ownerOf(before, virtualCluster)}`,
            `${at}: it carries ${JSON.stringify(before.metadata)}`,
          );
        if (synced.includes(resource)) this.#invented(before, resource, at);
        return;
      }
      case 'update': {
        if (method !== 'PATCH' || !passing.contentType.startsWith('application/merge-patch+json'))
          return void this.#board.say(
            'S1',
            'no merge patch',
            `${at}: an update is a merge patch, found ${passing.contentType}`,
          );
        const { uid, resourceVersion } = body.metadata ?? {};
        if (uid === undefined || resourceVersion === undefined)
          return void this.#board.say('S1', 'no precondition', `${at}: an update carries uid and resourceVersion`);
        if (before === undefined || !isSame(before, { uid, resourceVersion })) return;
        if ('deletionTimestamp' in before.metadata)
          this.#board.say('S1', 'changes what goes', `${at}: it is being deleted, and so known to the daemon`);
        const owner = ownerOf(before, virtualCluster);
        const isTakeOver = owner === 'native' && resource === 'endpoints';
        // A copy whose marks were damaged is repaired as long as it is in no contradiction.
        if (owner === 'foreign' || (owner === 'native' && !isTakeOver))
          this.#board.say('S1', `changes ${owner}`, `${at}: it carries ${JSON.stringify(before.metadata)}`);
        return;
      }
      default:
        return;
    }
  }

  #create({ resource }: Passing, body: Body, at: string): void {
    const object = body as Marked;
    if (!hasAllMarks(object, virtualCluster))
      return void this.#board.say('S1', 'unmarked', `${at}: a copy carries marker and the six`);
    const key = virtualKeyOf(object) ?? '';
    const uid = ownedUidOf(object);
    const wasThere = this.#world.clusters.virtual.store.written.some(
      ({ key: stored, after }) =>
        stored === `${registry[resource as RigResource]}/${key}` && after?.metadata.uid === uid,
    );
    if (!wasThere)
      this.#board.say('S1', 'copy of nothing', `${at}: there was never a ${resource} ${key} with uid ${uid}`);
  }

  /** S3, as far as it can be told without the rules of eligibility: nothing that speaks about the object has changed for a long time. */
  #invented(copy: Marked, resource: string, at: string): void {
    if (this.hasTurnedBack || this.isLiedTo) return;
    const key = virtualKeyOf(copy) ?? '';
    const quietMs = this.isSilenced ? heardByThenMs : this.isDisturbed ? seenByThenMs : seenSoonMs;
    const since = this.#world.clock.now() - quietMs;
    if ((this.#world.configurations.at(-1)?.sinceMs ?? 0) > since) return;
    const { written } = this.#world.clusters.virtual.store;
    const [namespace = '', name = ''] = key.split('/');
    const object = this.#world.clusters.virtual.find(resource as RigResource, namespace, name);
    const named = resource === 'endpointslices' ? object?.metadata.labels?.['kubernetes.io/service-name'] : name;
    const service = this.#world.clusters.virtual.find('services', namespace, named ?? '');
    if (object === undefined || service === undefined || object.metadata.uid !== ownedUidOf(copy)) return;
    if (Object.keys((service['spec'] as { selector?: object }).selector ?? {}).length > 0) return;
    const about = [`/${key}`, `/${namespace}/${named}`];
    const isQuiet = (one: Written): boolean =>
      one.atMs < since || one.by?.daemon !== undefined || !about.some((end) => one.key.endsWith(end));
    if (!written.every(isQuiet)) return;
    const other = (resource as Marked['kind']) === 'endpointslices' && copy['addressType'] !== object['addressType'];
    const hasRival =
      this.#hasRival({ namespace, name }, resource) || this.#hasRival({ namespace, name: named ?? '' }, 'services');
    if (other || hasRival || this.#mayBeRefused(object as Marked, resource)) return;
    this.#board.say('S3', 'invented', `${at}: ${key} and its Service are as they are since ${quietMs / 1000} s`);
  }

  /** Another object may have the same place, now or a moment ago. */
  #hasRival(at: At, resource: string): boolean {
    const prefix = `${registry[resource as RigResource]}/`;
    const own = this.#world.people.placeOf(at);
    return this.#world.clusters.virtual.store.written.some(({ key: stored }) => {
      if (!stored.startsWith(prefix)) return false;
      const [namespace = '', name = ''] = stored.slice(prefix.length).split('/');
      if (namespace === at.namespace && name === at.name) return false;
      const place = this.#world.people.placeOf({ namespace, name });
      return place.namespace === own.namespace && place.name === own.name;
    });
  }

  /** A rough look for policy, patches that throw and slices that a controller made; the model judges these exactly. */
  #mayBeRefused(object: Marked, resource: string): boolean {
    const text = JSON.stringify(object);
    const managedBy = object.metadata.labels?.['endpointslice.kubernetes.io/managed-by'];
    if (/boom|239\.|controlled-by/.test(text) || (resource === 'endpointslices' && managedBy !== undefined))
      return true;
    return this.#world.configurations.some(({ configuration }) =>
      deniedIn(configuration).some((network) => text.includes(`"${network}`)),
    );
  }

  #virtual({ verb, method, resource, namespace, name }: Passing, body: Body, at: string): void {
    if (content.includes(resource)) {
      const before = this.#world.clusters.virtual.find(resource as RigResource, namespace, name) as Marked | undefined;
      const imported = (one: Marked | Body | undefined): boolean =>
        one?.metadata?.annotations?.['hostward.dev/imported-from'] !== undefined;
      const { uid, resourceVersion } = (verb === 'delete' ? body.preconditions : body.metadata) ?? {};
      if (verb !== 'create' && (uid === undefined || resourceVersion === undefined))
        this.#board.say('S4', 'no precondition', `${at}: changes and deletes carry uid and resourceVersion`);
      const isMeant = before !== undefined && isSame(before, { uid, resourceVersion });
      if (verb === 'create' ? !imported(body) : isMeant && !imported(before))
        this.#board.say('S4', `${verb}s ${resource}`, `${at}: it is no import`);
      return;
    }
    if (!synced.includes(resource) || verb !== 'update' || method !== 'PATCH')
      return void this.#board.say(
        'S4',
        `${verb}s ${resource}`,
        `${at}: the tenant's objects are never made, replaced or deleted`,
      );
    const { metadata = {}, ...others } = body;
    const { uid, resourceVersion, labels: _, annotations: __, ...more } = metadata;
    if (uid === undefined || resourceVersion === undefined)
      this.#board.say('S4', 'no precondition', `${at}: an update carries uid and resourceVersion`);
    if (Object.keys(others).length + Object.keys(more).length > 0)
      this.#board.say(
        'S4',
        'more than labels',
        `${at}: it changes ${[...Object.keys(others), ...Object.keys(more)].join(', ')}`,
      );
  }

  answered(passing: Passing, status: number): void {
    if (!isWrite(passing) || status >= 300 || passing.verb === 'delete') return;
    const { store } = this.#world.clusters[passing.side];
    const done = store.written.findLast((one) => one.by?.request === passing.id && one.by.daemon === passing.daemon);
    const at = `${passing.method} ${passing.path.split('?')[0]} by ${passing.daemon}`;
    if (done === undefined) {
      this.#board.say('S7', 'a write of nothing', `${at}: it changed nothing: ${passing.body.slice(0, 400)}`);
    } else if (passing.side === 'host' && synced.includes(passing.resource) && done.after !== undefined) {
      this.#regress(done, passing.resource, at);
    }
  }

  /** S2: no older version of a payload after a newer one of the same virtual uid. */
  #regress({ after, before }: Written, resource: string, at: string): void {
    const copy = after as Marked;
    const [key, uid, version] = [virtualKeyOf(copy), ownedUidOf(copy), versionIn(copy)];
    if (key === undefined || uid === undefined || version === undefined || this.hasTurnedBack || this.wasLiedTo) return;
    if (versionIn(before as Marked | undefined) === version) return;
    const versions = this.#world.clusters.virtual.store.written
      .filter((one) => one.key === `${registry[resource as RigResource]}/${key}` && one.after?.metadata.uid === uid)
      .map((one) => versionIn(one.after as Marked));
    const order = versions.lastIndexOf(version);
    if (order < 0)
      return void this.#board.say('S2', 'of nobody', `${at}: ${key} never had the addresses of version ${version}`);
    const id = `${resource} ${key} ${uid}`;
    const newest = this.#newest.get(id) ?? -1;
    if (order < newest) this.#board.say('S2', 'back', `${at}: version ${version} of ${key} after ${versions[newest]}`);
    this.#newest.set(id, Math.max(newest, order));
  }
}

/** The beginnings of the addresses that a configuration denies, whose networks end at a dot. */
function deniedIn(configuration: object): string[] {
  const { addressPolicy } = (configuration as { hostward: { addressPolicy?: { deny?: readonly string[] } } }).hostward;
  return (addressPolicy?.deny ?? []).map((network) => {
    const [address = '', bits] = network.split('/');
    return `${address
      .split('.')
      .slice(0, Number(bits) / 8)
      .join('.')}.`;
  });
}

function isSame(
  { metadata }: Marked,
  given: { uid: string | undefined; resourceVersion: string | undefined },
): boolean {
  return metadata.uid === given.uid && metadata.resourceVersion === given.resourceVersion;
}

function bodyOf({ body, verb }: Passing): Body | undefined {
  if (body === '' && verb === 'delete') return {};
  try {
    const value = JSON.parse(body) as unknown;
    return typeof value === 'object' && value !== null ? (value as Body) : undefined;
  } catch {
    return undefined;
  }
}
