// Service: defaults, cluster addresses, validation and columns.
import { at, items, mapAt, setDefault, text } from '../../apiserver/kinds/fields.ts';
import { allVerbs, type Kind } from '../../apiserver/kinds/kind.ts';
import {
  duplicateValue,
  type FieldError,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { parseAddress } from '../../object/text/ip.ts';
import { isRecord } from '../../object/text/json.ts';
import type { ClusterAddresses } from './addresses/cluster-addresses.ts';
import { serviceColumns } from './shapes/columns.ts';

export function serviceKind(addresses: ClusterAddresses): Kind {
  return {
    group: '',
    version: 'v1',
    kind: 'Service',
    plural: 'services',
    singular: 'service',
    shortNames: ['svc'],
    categories: ['all'],
    namespaced: true,
    verbs: allVerbs,
    schema: 'io.k8s.api.core.v1.Service',
    storage: 'services/specs',
    strategy: {
      nameForm: 'label',
      allowsCreateOnUpdate: true,
      deletion: { returnsObject: true },
      hasStatus: true,
      setDefaults,
      warnings: (object) => (hasExternalIps(object['spec']) ? [externalIpsWarning] : []),
      prepareForCreate: ({ object }) => {
        object['status'] = { loadBalancer: {} };
        setFamilies(object);
      },
      prepareForUpdate: ({ object, old }) => {
        dropFieldsOfOldType(object, old);
        keepAddress(object, old);
        setFamilies(object);
      },
      resources: {
        reserve: ({ object }) => takeAddress(object, addresses),
        release: (object) => addresses.release(text(object, 'spec', 'clusterIP'), ownerOf(object)),
      },
      validate: ({ object, old }) => serviceErrors(object, old),
    },
    columns: serviceColumns,
    subresources: { status: { mode: 'part', writes: ['status'], verbs: ['get', 'patch', 'update'] } },
    selectableFields: {
      'spec.clusterIP': (object) => text(object, 'spec', 'clusterIP'),
      'spec.type': (object) => text(object, 'spec', 'type'),
    },
  };
}

const externalIpsWarning = 'spec.externalIPs is deprecated and may no longer be implemented in some clusters';

function ownerOf(object: KubeObject): string {
  return object.metadata.uid ?? '';
}

function isReachableFromOutside(spec: unknown): boolean {
  return hasNodePorts(spec) || (text(spec, 'type') === 'ClusterIP' && hasExternalIps(spec));
}

function hasNodePorts(spec: unknown): boolean {
  return text(spec, 'type') === 'NodePort' || text(spec, 'type') === 'LoadBalancer';
}

/** After a change of type, drops the fields that only the old type has, unless the same update changed them. */
function dropFieldsOfOldType(object: KubeObject, old: KubeObject): void {
  const spec = mapAt(object, 'spec');
  const before = mapAt(old, 'spec');
  const policy = 'externalTrafficPolicy';
  if (isReachableFromOutside(before) && !isReachableFromOutside(spec) && spec[policy] === before[policy])
    delete spec[policy];
  const balancing = 'allocateLoadBalancerNodePorts';
  const wasBalanced = before['type'] === 'LoadBalancer' && spec['type'] !== 'LoadBalancer';
  if (wasBalanced && spec[balancing] === before[balancing]) delete spec[balancing];
  if (!hasNodePorts(before) || hasNodePorts(spec)) return;
  for (const port of items(spec, 'ports')) if (isRecord(port)) delete port['nodePort'];
}

function hasExternalIps(spec: unknown): boolean {
  return items(spec, 'externalIPs').length > 0;
}

function setDefaults(object: KubeObject): void {
  const spec = mapAt(object, 'spec');
  setDefault(spec, 'sessionAffinity', 'None');
  if (spec['sessionAffinity'] === 'None') delete spec['sessionAffinityConfig'];
  if (
    spec['sessionAffinity'] === 'ClientIP' &&
    at(spec, 'sessionAffinityConfig', 'clientIP', 'timeoutSeconds') === undefined
  ) {
    spec['sessionAffinityConfig'] = { clientIP: { timeoutSeconds: 10800 } };
  }
  setDefault(spec, 'type', 'ClusterIP');
  for (const port of items(spec, 'ports')) {
    if (!isRecord(port)) continue;
    setDefault(port, 'protocol', 'TCP');
    if (port['targetPort'] === 0) delete port['targetPort'];
    setDefault(port, 'targetPort', port['port']);
  }
  const type = spec['type'];
  if (isReachableFromOutside(spec)) setDefault(spec, 'externalTrafficPolicy', 'Cluster');
  if (type !== 'ExternalName') setDefault(spec, 'internalTrafficPolicy', 'Cluster');
  if (type === 'LoadBalancer') {
    for (const ingress of items(object, 'status', 'loadBalancer', 'ingress')) {
      if (isRecord(ingress) && text(ingress, 'ip') !== '') setDefault(ingress, 'ipMode', 'VIP');
    }
  }
  if (type === 'LoadBalancer' && spec['allocateLoadBalancerNodePorts'] === undefined) {
    spec['allocateLoadBalancerNodePorts'] = true;
  }
}

/** An update without addresses keeps the old addresses. */
function keepAddress(object: KubeObject, old: KubeObject): void {
  const spec = mapAt(object, 'spec');
  const before = mapAt(old, 'spec');
  if (spec['type'] === 'ExternalName') return;
  // Old clients change only clusterIP; the new value replaces the list too.
  const asked = text(spec, 'clusterIP');
  const isNew = asked !== '' && asked !== before['clusterIP'];
  if (isNew && JSON.stringify(spec['clusterIPs']) === JSON.stringify(before['clusterIPs']))
    spec['clusterIPs'] = [asked];
  for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) {
    const value = spec[field];
    const isUnsaid = value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
    if (isUnsaid && before[field] !== undefined) spec[field] = before[field];
  }
  for (const [index, port] of items(spec, 'ports').entries()) {
    const kept = at(items(before, 'ports')[index], 'nodePort');
    const wanted = isRecord(port) && hasNodePorts(spec) && port['nodePort'] === undefined && kept !== undefined;
    if (wanted) port['nodePort'] = kept;
  }
}

/** Sets ipFamilies and ipFamilyPolicy from the cluster address, or from `None`. */
function setFamilies(object: KubeObject): void {
  const spec = mapAt(object, 'spec');
  if (spec['type'] === 'ExternalName') {
    for (const field of ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy']) delete spec[field];
    return;
  }
  const given = text(spec, 'clusterIP') || String(items(spec, 'clusterIPs')[0] ?? '');
  const isHeadless = given === 'None';
  if (given !== '') {
    spec['clusterIP'] = given;
    setDefault(spec, 'clusterIPs', [given]);
  }
  // A headless service without a selector may have endpoints of any family.
  const anyFamily = isHeadless && Object.keys(at(spec, 'selector') ?? {}).length === 0;
  setDefault(spec, 'ipFamilies', anyFamily ? ['IPv4', 'IPv6'] : ['IPv4']);
  setDefault(spec, 'ipFamilyPolicy', anyFamily ? 'RequireDualStack' : 'SingleStack');
}

function takeAddress(object: KubeObject, addresses: ClusterAddresses): void {
  const spec = mapAt(object, 'spec');
  const given = text(spec, 'clusterIP');
  if (spec['type'] === 'ExternalName') return;
  if (given === '') {
    spec['clusterIP'] = addresses.take(ownerOf(object));
    spec['clusterIPs'] = [spec['clusterIP']];
  } else if (given !== 'None') {
    addresses.claim(given, ownerOf(object));
  }
  const wantsNodePorts = spec['type'] === 'NodePort' || spec['type'] === 'LoadBalancer';
  if (!wantsNodePorts || spec['allocateLoadBalancerNodePorts'] === false) return;
  for (const port of items(spec, 'ports')) if (isRecord(port)) setDefault(port, 'nodePort', addresses.takeNodePort());
}

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];
const protocols = ['SCTP', 'TCP', 'UDP'];

function serviceErrors(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const type = text(object, 'spec', 'type');
  const ports = items(object, 'spec', 'ports');
  const clusterIp = text(object, 'spec', 'clusterIP');
  if (!types.includes(type)) errors.push(unsupportedValue('spec.type', type, types));
  if (ports.length === 0 && clusterIp !== 'None' && type !== 'ExternalName') errors.push(requiredValue('spec.ports'));
  if (type === 'ExternalName' && text(object, 'spec', 'externalName') === '') {
    errors.push(requiredValue('spec.externalName'));
  }
  const names = new Set<string>();
  ports.forEach((port, index) => {
    const path = `spec.ports[${index}]`;
    const name = text(port, 'name');
    const number = at(port, 'port');
    if (name === '' && ports.length > 1) errors.push(requiredValue(`${path}.name`));
    else if (names.has(name)) errors.push(duplicateValue(`${path}.name`, name));
    names.add(name);
    if (typeof number !== 'number' || number < 1 || number > 65535) {
      errors.push(invalidValue(`${path}.port`, number ?? 0, 'must be between 1 and 65535, inclusive'));
    }
    const protocol = text(port, 'protocol');
    const target = at(port, 'targetPort');
    if (typeof target === 'number' && (target < 1 || target > 65535)) {
      errors.push(invalidValue(`${path}.targetPort`, target, 'must be between 1 and 65535, inclusive'));
    }
    if (!protocols.includes(protocol)) errors.push(unsupportedValue(`${path}.protocol`, protocol, protocols));
  });
  if (clusterIp !== '' && clusterIp !== 'None' && parseAddress(clusterIp).kind === 'invalid') {
    const why = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
    errors.push(invalidValue('spec.clusterIPs[0]', clusterIp, why));
  }
  const before = text(old, 'spec', 'clusterIP');
  if (before !== '' && clusterIp !== before && type !== 'ExternalName') {
    errors.push(invalidValue('spec.clusterIPs[0]', items(object, 'spec', 'clusterIPs'), 'may not change once set'));
  }
  return errors;
}
