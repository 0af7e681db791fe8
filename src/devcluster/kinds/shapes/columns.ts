// The table columns of the core kinds.
import { at, items, text } from '../../../apiserver/kinds/fields.ts';
import type { Column } from '../../../apiserver/kinds/kind.ts';
import { age, ageColumn, nameColumn } from '../../../apiserver/wire/table.ts';
import type { KubeObject } from '../../../object/meta/object.ts';

type Cell = Column['cell'];

function column(name: string, cell: Cell, priority = 0): Column {
  return { name, type: 'string', priority, cell };
}

/** Like the real server, a column of counts has the type `string` and holds numbers. */
function count(name: string, cell: (object: KubeObject) => number, priority = 0): Column {
  return { name, type: 'string', priority, cell };
}

/** Longer lists end with the count of the omitted items. */
const shownItems = 3;

function cutList(all: readonly string[]): string {
  if (all.length === 0) return '<none>';
  const shown = all.slice(0, shownItems).join(',');
  return all.length > shownItems ? `${shown} + ${all.length - shownItems} more...` : shown;
}

function hostPort(ip: string, port: unknown): string {
  return ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;
}

function endpointsCell(object: KubeObject): string {
  const all: string[] = [];
  for (const subset of items(object, 'subsets')) {
    const ips = items(subset, 'addresses').map((address) => text(address, 'ip'));
    const ports = items(subset, 'ports');
    if (ports.length === 0) all.push(...ips);
    for (const port of ports) for (const ip of ips) all.push(hostPort(ip, at(port, 'port')));
  }
  return all.length === 0 && items(object, 'subsets').length > 0 ? '' : cutList(all);
}

export const endpointsColumns = [nameColumn, column('Endpoints', endpointsCell), ageColumn];

function portsCell(object: KubeObject): string {
  const ports = items(object, 'spec', 'ports').map((port) => {
    const node = at(port, 'nodePort');
    return `${at(port, 'port')}${node === undefined || node === 0 ? '' : `:${node}`}/${text(port, 'protocol')}`;
  });
  return ports.length === 0 ? '<none>' : ports.join(',');
}

function externalIpCell(object: KubeObject): string {
  const external = items(object, 'spec', 'externalIPs').map(String);
  switch (text(object, 'spec', 'type')) {
    case 'ExternalName':
      return text(object, 'spec', 'externalName');
    case 'LoadBalancer': {
      const ingress = items(object, 'status', 'loadBalancer', 'ingress');
      const all = [...ingress.map((entry) => text(entry, 'ip') || text(entry, 'hostname')), ...external];
      return all.length === 0 ? '<pending>' : all.join(',');
    }
    default:
      return external.length === 0 ? '<none>' : external.join(',');
  }
}

function labelsText(value: unknown): string {
  const entries = Object.entries((value ?? {}) as Record<string, string>).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length === 0 ? '<none>' : entries.map(([key, label]) => `${key}=${label}`).join(',');
}

export const serviceColumns = [
  nameColumn,
  column('Type', (object) => text(object, 'spec', 'type')),
  column('Cluster-IP', (object) => text(object, 'spec', 'clusterIP') || '<none>'),
  column('External-IP', externalIpCell),
  column('Port(s)', portsCell),
  ageColumn,
  column('Selector', (object) => labelsText(at(object, 'spec', 'selector')), 1),
];

export const namespaceColumns = [nameColumn, column('Status', (object) => text(object, 'status', 'phase')), ageColumn];

const size = (value: unknown) => Object.keys((value ?? {}) as object).length;

export const secretColumns = [
  nameColumn,
  column('Type', (object) => text(object, 'type')),
  count('Data', (object) => size(object['data'])),
  ageColumn,
];

export const configMapColumns = [
  nameColumn,
  count('Data', (object) => size(object['data']) + size(object['binaryData'])),
  ageColumn,
];

export const leaseColumns = [
  nameColumn,
  column('Holder', (object) => text(object, 'spec', 'holderIdentity')),
  ageColumn,
];

export const endpointSliceColumns = [
  nameColumn,
  column('AddressType', (object) => text(object, 'addressType')),
  column('Ports', (object) =>
    cutList(items(object, 'ports').map((port) => String(at(port, 'port') ?? (text(port, 'name') || '*')))),
  ),
  column('Endpoints', (object) =>
    cutList(items(object, 'endpoints').flatMap((endpoint) => items(endpoint, 'addresses').map(String))),
  ),
  ageColumn,
];

function readyCell(object: KubeObject): string {
  const ready = items(object, 'status', 'containerStatuses').filter((status) => at(status, 'ready') === true);
  return `${ready.length}/${items(object, 'spec', 'containers').length}`;
}

function podStatusCell(object: KubeObject): string {
  if (object.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return text(object, 'status', 'reason') || text(object, 'status', 'phase');
}

function restartsCell(object: KubeObject): string {
  const counts = items(object, 'status', 'containerStatuses').map((status) => Number(at(status, 'restartCount') ?? 0));
  return String(counts.reduce((sum, restarts) => sum + restarts, 0));
}

export const podColumns = [
  nameColumn,
  column('Ready', readyCell),
  column('Status', podStatusCell),
  column('Restarts', restartsCell),
  ageColumn,
  column('IP', (object) => text(object, 'status', 'podIP') || '<none>', 1),
  column('Node', (object) => text(object, 'spec', 'nodeName') || '<none>', 1),
  column('Nominated Node', (object) => text(object, 'status', 'nominatedNodeName') || '<none>', 1),
  column('Readiness Gates', () => '<none>', 1),
];

const shortModes: Record<string, string> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};

export const claimColumns = [
  nameColumn,
  column('Status', (object) =>
    object.metadata.deletionTimestamp === undefined ? text(object, 'status', 'phase') : 'Terminating',
  ),
  column('Volume', (object) => text(object, 'spec', 'volumeName')),
  column('Capacity', (object) => text(object, 'status', 'capacity', 'storage')),
  column('Access Modes', (object) =>
    items(object, 'status', 'accessModes')
      .map((mode) => shortModes[String(mode)] ?? '')
      .join(','),
  ),
  column('StorageClass', (object) => text(object, 'spec', 'storageClassName')),
  column('VolumeAttributesClass', (object) => text(object, 'spec', 'volumeAttributesClassName') || '<unset>'),
  ageColumn,
  column('VolumeMode', (object) => text(object, 'spec', 'volumeMode') || '<unset>', 1),
];

function eventTime(object: KubeObject, ...fields: string[]): string | undefined {
  return fields.map((field) => text(object, field)).find((time) => time !== '');
}

function lastSeen(object: KubeObject, now: Date): string {
  const series = text(object, 'series', 'lastObservedTime');
  return age(series || eventTime(object, 'lastTimestamp', 'firstTimestamp', 'eventTime'), now);
}

function involvedObject(object: KubeObject): string {
  const kind = text(object, 'involvedObject', 'kind').toLowerCase();
  const name = text(object, 'involvedObject', 'name');
  return name === '' ? kind : `${kind}/${name}`;
}

function sourceCell(object: KubeObject): string {
  const component = text(object, 'source', 'component') || text(object, 'reportingComponent');
  const host = text(object, 'source', 'host') || text(object, 'reportingInstance');
  return host === '' ? component : `${component}, ${host}`;
}

export const eventColumns: Column[] = [
  column('Last Seen', lastSeen),
  column('Type', (object) => text(object, 'type')),
  column('Reason', (object) => text(object, 'reason')),
  column('Object', involvedObject),
  column('Subobject', (object) => text(object, 'involvedObject', 'fieldPath'), 1),
  column('Source', sourceCell, 1),
  column('Message', (object) => text(object, 'message').trim()),
  column('First Seen', (object, now) => age(eventTime(object, 'firstTimestamp', 'eventTime'), now), 1),
  count('Count', (object) => Number(at(object, 'series', 'count') ?? at(object, 'count') ?? 1), 1),
  { ...nameColumn, priority: 1 },
];

function readyNode(object: KubeObject): string {
  const ready = items(object, 'status', 'conditions').find((condition) => text(condition, 'type') === 'Ready');
  const state = ready === undefined ? 'Unknown' : text(ready, 'status') === 'True' ? 'Ready' : 'NotReady';
  return at(object, 'spec', 'unschedulable') === true ? `${state},SchedulingDisabled` : state;
}

export const nodeColumns = [
  nameColumn,
  column('Status', readyNode),
  column('Roles', () => '<none>'),
  ageColumn,
  column('Version', (object) => text(object, 'status', 'nodeInfo', 'kubeletVersion')),
];
