// Plays the acts of people against the two clusters. An act that has nothing to act on does nothing, so that any part of a schedule can be
// left out.
import { hostName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { pathOf, type RigCluster, type RigSide } from '../stage/rig-cluster.ts';
import {
  type Act,
  type At,
  type Content,
  hostNamespace,
  mappedNamespace,
  movedNamespace,
  type Scenario,
  type Synced,
  tenantNamespaces,
  virtualCluster,
} from './acts.ts';

export type DaemonAct = Extract<Act, { do: 'reload' | 'restart' | 'kill' | 'down' | 'wait' | 'calm' | 'lastChance' }>;
export type PeoplesAct = Exclude<Act, DaemonAct>;

export const mergePatch = 'application/merge-patch+json';
const portsOf = (port = 80): object[] => [{ name: 'http', port, protocol: 'TCP' }];
const ports = portsOf();
const finalizer = 'example.com/looks-on';

export class People {
  readonly #clusters: Readonly<Record<RigSide, RigCluster>>;
  readonly #isMapped: boolean;
  readonly #moves: boolean;

  constructor(
    clusters: Readonly<Record<RigSide, RigCluster>>,
    { isMapped, moves = false }: Pick<Scenario, 'isMapped' | 'moves'>,
  ) {
    this.#clusters = clusters;
    this.#isMapped = isMapped;
    this.#moves = moves;
  }

  /** Where vCluster puts the copy of a virtual object. */
  placeOf(at: At): At {
    if (this.#isMapped) return { namespace: mappedNamespace(at.namespace), name: at.name };
    return { namespace: hostNamespace, name: hostName(at, virtualCluster) };
  }

  /** The namespace in which a host object can be imported: the copies of all tenants live in one namespace, or in the mapped one. */
  #contentPlace(side: RigSide, at: At): At {
    if (side === 'virtual') return at;
    return { namespace: this.#isMapped ? mappedNamespace(at.namespace) : hostNamespace, name: at.name };
  }

  async prepare(): Promise<void> {
    for (const name of tenantNamespaces)
      await this.#send('virtual', 'POST', '/api/v1/namespaces', { metadata: { name } });
    const mapped = this.#isMapped ? [mappedNamespace, ...(this.#moves ? [movedNamespace] : [])] : [];
    const onHost = [hostNamespace, ...mapped.flatMap((place) => tenantNamespaces.map(place))];
    for (const name of onHost) await this.#send('host', 'POST', '/api/v1/namespaces', { metadata: { name } });
    await this.play({ do: 'owner', exists: true });
  }

  async play(act: PeoplesAct): Promise<void> {
    switch (act.do) {
      case 'service':
        await this.#put('virtual', 'services', act.at, serviceOf(act.at, act.hasSelector));
        if (act.isCopied) await this.#copyService(act.at);
        return;
      case 'copyService':
        return this.#copyService(act.at);
      case 'endpoints':
        return this.#put('virtual', 'endpoints', act.at, {
          metadata: { ...act.at, labels: act.labels, annotations: act.annotations },
          subsets: subsetsOf(act.isHostile ? '239.1.1.1' : addressOf(act.version), targetOf(act), act.port),
        });
      case 'slice':
        return this.#put('virtual', 'endpointslices', act.at, {
          metadata: { ...act.at, labels: sliceLabels(act), annotations: act.annotations ?? {} },
          addressType: act.type,
          endpoints: [
            {
              addresses: [act.type === 'IPv6' ? `fd00::${act.version.toString(16)}` : addressOf(act.version)],
              nodeName: 'n1',
              ...targetOf(act),
            },
          ],
          ports: portsOf(act.port),
        });
      case 'edit': {
        const at = act.side === 'host' ? this.placeOf(act.at) : act.at;
        await this.#merge(act.side, act.resource, at, { metadata: { [act.field]: { [act.key]: act.value } } });
        return;
      }
      case 'payload':
        await this.#merge('host', act.resource, this.placeOf(act.at), hostEdit(act.resource, act.of));
        return;
      case 'finalizer': {
        const change = { metadata: { finalizers: act.isSet ? [finalizer] : null } };
        await this.#merge('host', act.resource, this.placeOf(act.at), change);
        return;
      }
      case 'hostService': {
        const place = this.placeOf(act.at);
        if (act.exists) await this.#put('host', 'services', place, serviceOf(place, false));
        else await this.#send('host', 'DELETE', pathOf('services', place.namespace, place.name));
        return;
      }
      case 'remove': {
        const at = act.side === 'host' ? this.placeOf(act.at) : act.at;
        await this.#send(act.side, 'DELETE', pathOf(act.resource, at.namespace, at.name));
        return;
      }
      case 'recreate':
        return this.#recreate(act);
      case 'damage': {
        const field = act.mark === 'vcluster.loft.sh/managed-by' ? 'labels' : 'annotations';
        const change = { metadata: { [field]: { [act.mark]: act.value } } };
        await this.#merge('host', act.resource, this.placeOf(act.at), change);
        return;
      }
      case 'stranger':
        return this.#stranger(act);
      case 'content':
        return this.#content(act);
      case 'removeContent': {
        const at = this.#contentPlace(act.side, act.at);
        await this.#send(act.side, 'DELETE', pathOf(act.resource, at.namespace, at.name));
        return;
      }
      case 'owner':
        return this.#owner(act.exists);
      default:
        return act satisfies never;
    }
  }

  async #recreate({ resource, at, version }: Extract<Act, { do: 'recreate' }>): Promise<void> {
    const found = this.#clusters.virtual.find(resource, at.namespace, at.name);
    if (found === undefined) return;
    await this.#send('virtual', 'DELETE', pathOf(resource, at.namespace, at.name));
    const { labels = {}, annotations = {} } = found.metadata;
    const payload =
      resource === 'endpoints'
        ? { subsets: subsetsOf(addressOf(version)) }
        : { addressType: 'IPv4', endpoints: [{ addresses: [addressOf(version)] }], ports };
    await this.#put('virtual', resource, at, { metadata: { ...at, labels, annotations }, ...payload });
  }

  async #stranger({ resource, at, marks }: Extract<Act, { do: 'stranger' }>): Promise<void> {
    const place = this.placeOf(at);
    if (this.#clusters.host.find(resource, place.namespace, place.name) !== undefined) return;
    const metadata = {
      ...place,
      ...(marks === 'otherCluster' && { labels: { 'vcluster.loft.sh/managed-by': 'other' } }),
      ...(marks === 'otherObject' && { annotations: { 'vcluster.loft.sh/object-name': 'someone-else' } }),
    };
    const payload =
      resource === 'endpoints'
        ? { subsets: subsetsOf('192.168.7.7') }
        : { addressType: 'IPv4', endpoints: [{ addresses: ['192.168.7.7'] }], ports };
    await this.#put('host', resource, place, { metadata, ...payload });
  }

  async #content({ side, resource, at, value, isImportable }: Extract<Act, { do: 'content' }>): Promise<void> {
    const place = this.#contentPlace(side, at);
    const data = resource === 'secrets' ? { stringData: { key: value } } : { data: { key: value } };
    const isThere = this.#clusters[side].find(resource, place.namespace, place.name) !== undefined;
    // Of what is there the label goes, too.
    const label = isImportable ? 'true' : isThere ? null : undefined;
    const labels = side === 'host' && label !== undefined ? { 'hostward.dev/importable': label } : {};
    await this.#put(side, resource, place, { metadata: { ...place, labels }, ...data });
  }

  async #owner(exists: boolean): Promise<void> {
    const at = { namespace: hostNamespace, name: virtualCluster };
    if (!exists) await this.#send('host', 'DELETE', pathOf('services', at.namespace, at.name));
    else if (this.#clusters.host.find('services', at.namespace, at.name) === undefined)
      await this.#put('host', 'services', at, { metadata: at, spec: { ports: [{ name: 'https', port: 443 }] } });
  }

  async #copyService(at: At): Promise<void> {
    const found = this.#clusters.virtual.find('services', at.namespace, at.name);
    const place = this.placeOf(at);
    // When two names meet on the host, vCluster writes the first and fails on the second.
    if (found === undefined || this.#clusters.host.find('services', place.namespace, place.name) !== undefined) return;
    const annotations = {
      'vcluster.loft.sh/object-name': at.name,
      'vcluster.loft.sh/object-namespace': at.namespace,
      'vcluster.loft.sh/object-uid': found.metadata.uid ?? '',
      'vcluster.loft.sh/object-kind': '/v1, Kind=Service',
      'vcluster.loft.sh/object-host-name': place.name,
      'vcluster.loft.sh/object-host-namespace': place.namespace,
    };
    const metadata = { ...place, annotations, labels: { 'vcluster.loft.sh/managed-by': virtualCluster } };
    await this.#put('host', 'services', place, { metadata, spec: { ports: [{ name: 'http', port: 80 }] } });
  }

  /** Creates the object, or brings the existing one to these contents. */
  async #put(side: RigSide, resource: Synced | Content | 'services', at: At, object: object): Promise<void> {
    const found = this.#clusters[side].find(resource, at.namespace, at.name);
    if (found === undefined) {
      await this.#send(side, 'POST', pathOf(resource, at.namespace), object);
      return;
    }
    const { metadata, ...rest } = object as KubeObject;
    const isOtherType =
      resource === 'endpointslices' && (found['addressType'] as string) !== (rest['addressType'] as string);
    if (isOtherType) {
      await this.#send(side, 'DELETE', pathOf(resource, at.namespace, at.name));
      await this.#send(side, 'POST', pathOf(resource, at.namespace), object);
      return;
    }
    const spec = resource === 'services' ? { spec: { selector: null, ...(rest['spec'] as object) } } : {};
    await this.#merge(side, resource, at, {
      ...rest,
      ...spec,
      metadata: { labels: metadata.labels, annotations: metadata.annotations },
    });
  }

  async #merge(side: RigSide, resource: string, at: At, change: object): Promise<void> {
    await this.#send(
      side,
      'PATCH',
      `${pathOf(resource, at.namespace, at.name)}?fieldManager=people`,
      change,
      mergePatch,
    );
  }

  /** People come too late, or ask for what no object may hold; such an act does nothing. */
  async #send(side: RigSide, method: string, path: string, body?: object, contentType?: string): Promise<void> {
    const { status, text } = await this.#clusters[side].people(method, path, body, contentType);
    if (status < 300 || refusals.has(status)) return;
    throw new Error(
      `people's ${method} ${path} on the ${side} side: wanted 2xx, found ${status}: ${text.slice(0, 300)}`,
    );
  }
}

/** The version of a payload is in its address. */
function addressOf(version: number): string {
  return `10.${version % 9}.${Math.floor(version / 250)}.${(version % 250) + 1}`;
}

/** Every third payload says which Pod has its address. */
function targetOf({ at, version }: { at: At; version: number }): object {
  const targetRef = {
    kind: 'Pod',
    namespace: at.namespace,
    name: 'pod-a',
    uid: '11111111-2222-4333-a444-555555555555',
  };
  return version % 3 === 0 ? { targetRef } : {};
}

function subsetsOf(ip: string, target: object = {}, port = 80): object[] {
  return [{ addresses: [{ ip, ...target }], ports: portsOf(port) }];
}

export function hostEdit(resource: Synced, of?: 'ports'): object {
  if (of === 'ports')
    return resource === 'endpoints' ? { subsets: subsetsOf('203.0.113.66', {}, 8_080) } : { ports: portsOf(8_080) };
  return resource === 'endpoints'
    ? { subsets: subsetsOf('203.0.113.66') }
    : { endpoints: [{ addresses: ['203.0.113.66'] }] };
}

function sliceLabels({ labels, service, managedBy }: Extract<Act, { do: 'slice' }>): object {
  return {
    ...labels,
    'kubernetes.io/service-name': service,
    ...(managedBy !== undefined && { 'endpointslice.kubernetes.io/managed-by': managedBy }),
  };
}

function serviceOf(at: At, hasSelector: boolean): object {
  const spec = { ports: [{ name: 'http', port: 80 }], ...(hasSelector && { selector: { app: at.name } }) };
  return { metadata: { ...at }, spec };
}

const refusals: ReadonlySet<number> = new Set([404, 409, 422]);
