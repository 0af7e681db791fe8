// EndpointSlices: defaults, validation and columns.
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
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from '../../object/meta/qualified-name.ts';
import { parseAddress } from '../../object/text/ip.ts';
import { isRecord } from '../../object/text/json.ts';
import { addressErrors } from './addresses/address-rules.ts';
import { endpointSliceColumns } from './shapes/columns.ts';

const addressTypes = ['FQDN', 'IPv4', 'IPv6'];
const protocols = ['SCTP', 'TCP', 'UDP'];

/** The limits of the real server. */
const most = { endpoints: 1_000, addresses: 100, ports: 20_000, hints: 8 };

export const endpointSliceKind: Kind = {
  group: 'discovery.k8s.io',
  version: 'v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
  singular: 'endpointslice',
  namespaced: true,
  verbs: allVerbs,
  schema: 'io.k8s.api.discovery.v1.EndpointSlice',
  storage: 'endpointslices',
  strategy: {
    countsGenerations: 'withLabels',
    setDefaults,
    validate: ({ object, old }) => sliceErrors(object, old),
    warnings: deprecationOf,
  },
  columns: endpointSliceColumns,
};

/** As the real server, says nothing about a slice that it refuses. */
function deprecationOf(object: KubeObject): string[] {
  const isTold = text(object, 'addressType') === 'FQDN' && sliceErrors(object, undefined).length === 0;
  return isTold ? ['spec.addressType: FQDN endpoints are deprecated'] : [];
}

function setDefaults(object: KubeObject): void {
  for (const port of items(object, 'ports')) {
    if (!isRecord(port)) continue;
    port['name'] ??= '';
    setDefault(port, 'protocol', 'TCP');
  }
  for (const endpoint of items(object, 'endpoints')) if (isRecord(endpoint)) mapAt(endpoint, 'conditions');
  for (const field of ['endpoints', 'ports']) if (items(object, field).length === 0) object[field] = null;
}

function sliceErrors(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const type = text(object, 'addressType');
  // Addresses of another type would hide the one mistake that counts.
  if (old !== undefined && old['addressType'] !== type)
    return [invalidValue('addressType', type, 'field is immutable')];
  if (type === '') return [requiredValue('addressType')];
  if (!addressTypes.includes(type)) return [unsupportedValue('addressType', type, addressTypes)];
  return [...endpointsErrors(items(object, 'endpoints'), type), ...portsErrors(items(object, 'ports'))];
}

function endpointsErrors(endpoints: readonly unknown[], type: string): FieldError[] {
  if (endpoints.length > most.endpoints) return [tooMany('endpoints', endpoints.length, most.endpoints)];
  return endpoints.flatMap((endpoint, index) => endpointErrors(endpoint, type, `endpoints[${index}]`));
}

function tooMany(path: string, count: number, limit: number): FieldError {
  const message = `Too many: ${count}: must have at most ${limit} items`;
  return { type: 'FieldValueTooMany', path, message };
}

function endpointErrors(endpoint: unknown, type: string, path: string): FieldError[] {
  const addresses = items(endpoint, 'addresses').map(String);
  const errors: FieldError[] = [];
  if (addresses.length === 0) errors.push(requiredValue(`${path}.addresses`, 'must contain at least 1 address'));
  else if (addresses.length > most.addresses)
    errors.push(tooMany(`${path}.addresses`, addresses.length, most.addresses));
  addresses.forEach((address, place) => {
    errors.push(...addressTypeErrors(address, type, { list: `${path}.addresses`, one: `${path}.addresses[${place}]` }));
  });
  const named = (field: string, problems: (value: string) => readonly string[]): void => {
    const value = at(endpoint, field);
    if (typeof value === 'string')
      errors.push(...problems(value).map((why) => invalidValue(`${path}.${field}`, value, why)));
  };
  named('nodeName', dnsSubdomainProblems);
  errors.push(...hintErrors(endpoint, 'forZones', labelValueProblems, path));
  errors.push(...hintErrors(endpoint, 'forNodes', dnsSubdomainProblems, path));
  named('hostname', dnsLabelProblems);
  return errors;
}

function addressTypeErrors(address: string, type: string, path: { list: string; one: string }): FieldError[] {
  if (type === 'FQDN') {
    const problems = dnsSubdomainProblems(address);
    const why = problems.length > 0 || address.includes('.') ? problems : [twoSegments];
    return why.map((one) => invalidValue(path.one, address, one));
  }
  const { form, range } = addressErrors(address, path.one);
  const parsed = parseAddress(address);
  if (parsed.kind === 'invalid' || form.length > 0) return form;
  if (parsed.family !== type) return [invalidValue(path.list, address, `must be an ${type} address`)];
  return range;
}

const twoSegments = 'should be a domain with at least two segments separated by dots';

function hintErrors(
  endpoint: unknown,
  list: 'forZones' | 'forNodes',
  problems: (name: string) => readonly string[],
  path: string,
): FieldError[] {
  const hints = items(endpoint, 'hints', list);
  const at = `${path}.hints.${list}`;
  if (hints.length > most.hints) return [tooMany(at, hints.length, most.hints)];
  const names = new Set<string>();
  return hints.flatMap((hint, index) => {
    const name = text(hint, 'name');
    const where = `${at}[${index}].name`;
    if (names.has(name)) return [duplicateValue(where, name)];
    names.add(name);
    return problems(name).map((why) => invalidValue(where, name, why));
  });
}

function portsErrors(ports: readonly unknown[]): FieldError[] {
  if (ports.length > most.ports) return [tooMany('ports', ports.length, most.ports)];
  const names = new Set<string>();
  return ports.flatMap((port, index) => {
    const path = `ports[${index}]`;
    const name = text(port, 'name');
    const protocol = text(port, 'protocol');
    const appProtocol = at(port, 'appProtocol');
    const errors = name === '' ? [] : dnsLabelProblems(name).map((why) => invalidValue(`${path}.name`, name, why));
    if (names.has(name)) errors.push(duplicateValue(`${path}.name`, name));
    names.add(name);
    if (!protocols.includes(protocol)) errors.push(unsupportedValue(`${path}.protocol`, protocol, protocols));
    if (typeof appProtocol === 'string') {
      errors.push(...labelKeyProblems(appProtocol).map((why) => invalidValue(`${path}.appProtocol`, appProtocol, why)));
    }
    return errors;
  });
}
