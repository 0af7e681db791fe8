// Endpoints: defaults, validation and columns.
import { at, items, setDefault, text } from '../../apiserver/kinds/fields.ts';
import { allVerbs, type Kind } from '../../apiserver/kinds/kind.ts';
import { type FieldError, invalidValue, requiredValue, unsupportedValue } from '../../object/meta/field-error.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { dnsLabelProblems, dnsSubdomainProblems, labelKeyProblems } from '../../object/meta/qualified-name.ts';
import { parseAddress } from '../../object/text/ip.ts';
import { equalJson, isRecord, type Json } from '../../object/text/json.ts';
import { addressErrors } from './addresses/address-rules.ts';
import { endpointsColumns } from './shapes/columns.ts';

export const endpointsKind: Kind = {
  group: '',
  version: 'v1',
  kind: 'Endpoints',
  plural: 'endpoints',
  singular: 'endpoints',
  shortNames: ['ep'],
  namespaced: true,
  verbs: allVerbs,
  schema: 'io.k8s.api.core.v1.Endpoints',
  storage: 'services/endpoints',
  strategy: {
    setDefaults,
    validate: ({ object, old }) => endpointsErrors(object, old),
    allowsCreateOnUpdate: true,
    warnings: nonCanonicalWarnings,
  },
  columns: endpointsColumns,
  warnings: ['v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'],
};

function setDefaults(object: KubeObject): void {
  for (const subset of items(object, 'subsets')) {
    for (const port of items(subset, 'ports')) if (isRecord(port)) setDefault(port, 'protocol', 'TCP');
  }
}

/** Warns about valid addresses that are not in canonical form; the server stores them unchanged. */
function nonCanonicalWarnings(object: KubeObject): string[] {
  const warnings: string[] = [];
  items(object, 'subsets').forEach((subset, index) => {
    for (const list of ['addresses', 'notReadyAddresses']) {
      items(subset, list).forEach((address, place) => {
        const ip = text(address, 'ip');
        const parsed = ip.includes(':') ? parseAddress(ip) : undefined;
        if (parsed?.kind !== 'ok' || parsed.canonical === ip) return;
        const path = `subsets[${index}].${list}[${place}].ip`;
        warnings.push(`${path}: IPv6 address "${ip}" should be in RFC 5952 canonical format ("${parsed.canonical}")`);
      });
    }
  });
  return warnings;
}

function endpointsErrors(object: KubeObject, old: KubeObject | undefined): FieldError[] {
  const errors = items(object, 'subsets').flatMap((subset, index) => subsetErrors(subset, `subsets[${index}]`));
  // Invalid subsets that an older server accepted must not block updates of other fields.
  if (errors.length > 0 && old !== undefined) {
    if (equalJson((object['subsets'] ?? null) as Json, (old['subsets'] ?? null) as Json)) return [];
  }
  return errors;
}

function subsetErrors(subset: unknown, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const ready = items(subset, 'addresses');
  const notReady = items(subset, 'notReadyAddresses');
  if (ready.length === 0 && notReady.length === 0) {
    errors.push(requiredValue(path, 'must specify `addresses` or `notReadyAddresses`'));
  }
  ready.forEach((address, index) => {
    errors.push(...endpointAddressErrors(address, `${path}.addresses[${index}]`));
  });
  notReady.forEach((address, index) => {
    errors.push(...endpointAddressErrors(address, `${path}.notReadyAddresses[${index}]`));
  });
  const ports = items(subset, 'ports');
  ports.forEach((port, index) => {
    errors.push(...portErrors(port, ports.length > 1, `${path}.ports[${index}]`));
  });
  return errors;
}

function endpointAddressErrors(address: unknown, path: string): FieldError[] {
  const hostname = text(address, 'hostname');
  const nodeName = at(address, 'nodeName');
  const { form, range } = addressErrors(text(address, 'ip'), `${path}.ip`);
  return [
    ...form,
    ...(hostname === ''
      ? []
      : dnsLabelProblems(hostname).map((why) => invalidValue(`${path}.hostname`, hostname, why))),
    ...(typeof nodeName === 'string'
      ? dnsSubdomainProblems(nodeName).map((why) => invalidValue(`${path}.nodeName`, nodeName, why))
      : []),
    ...range,
  ];
}

const protocols = ['SCTP', 'TCP', 'UDP'];

function portErrors(port: unknown, wantsName: boolean, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const name = text(port, 'name');
  const number = at(port, 'port');
  const protocol = text(port, 'protocol');
  if (name === '' && wantsName) errors.push(requiredValue(`${path}.name`));
  else if (name !== '') errors.push(...dnsLabelProblems(name).map((why) => invalidValue(`${path}.name`, name, why)));
  if (typeof number !== 'number' || number < 1 || number > 65535) {
    errors.push(invalidValue(`${path}.port`, number ?? 0, 'must be between 1 and 65535, inclusive'));
  }
  const appProtocol = at(port, 'appProtocol');
  if (!protocols.includes(protocol)) errors.push(unsupportedValue(`${path}.protocol`, protocol, protocols));
  if (typeof appProtocol === 'string') {
    errors.push(...labelKeyProblems(appProtocol).map((why) => invalidValue(`${path}.appProtocol`, appProtocol, why)));
  }
  return errors;
}
