// Whether the API server would accept this payload of an EndpointSlice. It would refuse the whole object without the name of a
// patch; found here, the problem can be blamed on the patch that made it. Pure.
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from '../../../object/meta/qualified-name.ts';
import { isMapped, parseAddress, plainV4Of } from '../../../object/text/ip.ts';
import { isRecord, shapeOf } from '../../../object/text/json.ts';
import type { ResultProblem } from '../../plan/kind.ts';
import {
  at,
  type Below,
  here,
  isTextMap,
  mappedAddress,
  problemOfFields,
  problemOfList,
  resultProblem,
  under,
} from '../payload/problem.ts';
import { fieldNames } from './shape.ts';

/** kube-apiserver's own limits. */
const mostEndpoints = 1_000;
const mostPorts = 20_000;
const mostAddresses = 100;
const mostHints = 8;

/** The name of the kind in messages. */
const kinds = 'EndpointSlices';

const known = {
  endpoint: new Set<string>(fieldNames.endpoint),
  conditions: new Set<string>(fieldNames.conditions),
  hints: new Set<string>(fieldNames.hints),
  hint: new Set<string>(fieldNames.hint),
  port: new Set<string>(fieldNames.port),
  targetRef: new Set<string>(fieldNames.targetRef),
};

const protocols = ['TCP', 'UDP', 'SCTP'];

export function problemOfPayload(payload: Record<string, unknown>): ResultProblem | undefined {
  const { addressType, endpoints, ports } = payload;
  return resultProblem(
    under('endpoints', problemOfEndpoints(endpoints ?? [], String(addressType))) ??
      under('ports', problemOfPorts(ports ?? [])),
  );
}

function problemOfEndpoints(endpoints: unknown, addressType: string): Below | undefined {
  const most = mostOf(endpoints, mostEndpoints, 'endpoints');
  return most ?? problemOfList(endpoints, (endpoint) => problemOfEndpoint(endpoint, addressType));
}

function mostOf(list: unknown, most: number, things: string): Below | undefined {
  if (!Array.isArray(list) || list.length <= most) return undefined;
  return here(`must have at most ${most} ${things}, found ${list.length}`);
}

function problemOfEndpoint(endpoint: unknown, addressType: string): Below | undefined {
  if (!isRecord(endpoint)) return here(`must be an object, found ${shapeOf(endpoint)}`);
  const { addresses, conditions, hostname, nodeName, zone, targetRef, hints } = endpoint;
  return (
    under('addresses', problemOfAddresses(addresses, addressType)) ??
    problemOfText(hostname, 'hostname', (text) => (dnsLabelProblems(text).length > 0 ? 'a DNS label' : undefined)) ??
    problemOfText(nodeName, 'nodeName', (text) =>
      dnsSubdomainProblems(text).length > 0 ? 'a DNS subdomain' : undefined,
    ) ??
    problemOfText(zone, 'zone', () => undefined) ??
    under('conditions', problemOfConditions(conditions)) ??
    under('targetRef', problemOfReference(targetRef)) ??
    under('hints', problemOfHints(hints)) ??
    problemOfFields(endpoint, known.endpoint, kinds)
  );
}

function problemOfAddresses(addresses: unknown, addressType: string): Below | undefined {
  if (!Array.isArray(addresses)) return here(`must be an array, found ${shapeOf(addresses)}`);
  if (addresses.length === 0) return here('must have at least one address');
  return (
    mostOf(addresses, mostAddresses, 'addresses') ?? problemOfList(addresses, (one) => wrongAddress(one, addressType))
  );
}

function wrongAddress(address: unknown, addressType: string): Below | undefined {
  if (typeof address !== 'string') return here(`must be a string, found ${shapeOf(address)}`);
  if (addressType === 'FQDN')
    return dnsSubdomainProblems(address).length > 0 || !address.includes('.')
      ? here('must be a fully qualified domain name')
      : undefined;
  if (addressType === 'IPv4' && plainV4Of(address) >= 0) return undefined;
  const parsed = parseAddress(address);
  if (parsed.kind === 'invalid') return here(`must be an IP address, but ${parsed.reason}`);
  if (isMapped(parsed)) return here(mappedAddress);
  return parsed.family === addressType
    ? undefined
    : here(`must be an ${addressType} address, as addressType says, found an ${parsed.family} address`);
}

function problemOfText(
  value: unknown,
  field: string,
  wantedOf: (text: string) => string | undefined,
): Below | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return at(field, `must be a string, found ${shapeOf(value)}`);
  const wanted = wantedOf(value);
  return wanted === undefined ? undefined : at(field, `must be ${wanted}, or left out`);
}

function problemOfConditions(conditions: unknown): Below | undefined {
  if (conditions === undefined || conditions === null) return undefined;
  if (!isRecord(conditions)) return here(`must be an object, found ${shapeOf(conditions)}`);
  for (const [key, value] of Object.entries(conditions)) {
    if (value !== null && typeof value !== 'boolean') return at(key, `must be true or false, found ${shapeOf(value)}`);
  }
  return problemOfFields(conditions, known.conditions, kinds);
}

function problemOfReference(reference: unknown): Below | undefined {
  if (reference === undefined || reference === null) return undefined;
  if (!isTextMap(reference)) return here('must be an object of strings');
  return problemOfFields(reference, known.targetRef, kinds);
}

function problemOfHints(hints: unknown): Below | undefined {
  if (hints === undefined || hints === null) return undefined;
  if (!isRecord(hints)) return here(`must be an object, found ${shapeOf(hints)}`);
  for (const field of fieldNames.hints) {
    const list = hints[field] ?? [];
    const problem = mostOf(list, mostHints, 'hints') ?? problemOfHintList(list, field);
    if (problem !== undefined) return under(field, problem);
  }
  return problemOfFields(hints, known.hints, kinds);
}

function problemOfHintList(list: unknown, field: string): Below | undefined {
  const names = new Set<string>();
  return problemOfList(list, (hint) => {
    if (!isRecord(hint)) return here(`must be an object, found ${shapeOf(hint)}`);
    const { name } = hint;
    const isValid =
      typeof name === 'string' &&
      (field === 'forZones' ? labelValueProblems(name).length === 0 : dnsSubdomainProblems(name).length === 0);
    if (!isValid) return at('name', field === 'forZones' ? 'must be a label value' : 'must be a DNS subdomain');
    if (names.has(name)) return at('name', 'must not be the name of another hint');
    names.add(name);
    return problemOfFields(hint, known.hint, kinds);
  });
}

function problemOfPorts(ports: unknown): Below | undefined {
  const names = new Set<unknown>();
  return (
    mostOf(ports, mostPorts, 'ports') ??
    problemOfList(ports, (port) => {
      const problem = problemOfPort(port);
      if (problem !== undefined) return problem;
      const name = (port as { name?: unknown }).name ?? '';
      if (names.has(name)) return at('name', 'must not be the name of another port');
      names.add(name);
      return undefined;
    })
  );
}

function problemOfPort(port: unknown): Below | undefined {
  if (!isRecord(port)) return here(`must be an object, found ${shapeOf(port)}`);
  const { port: number, protocol, name, appProtocol } = port;
  const isNumber = Number.isInteger(number) && (number as number) >= 1 && (number as number) <= 65_535;
  if (number !== undefined && number !== null && !isNumber) {
    const got = typeof number === 'number' ? number : shapeOf(number);
    return at('port', `must be a whole number from 1 to 65535, or left out, found ${got}`);
  }
  if (protocol !== undefined && protocol !== null && !protocols.includes(protocol as string))
    return at('protocol', 'must be TCP, UDP or SCTP');
  return (
    problemOfText(name, 'name', (text) =>
      text !== '' && dnsLabelProblems(text).length > 0 ? 'a DNS label' : undefined,
    ) ??
    // The API server applies the rule of label keys here.
    problemOfText(appProtocol, 'appProtocol', (text) =>
      labelKeyProblems(text).length > 0 ? 'a name, with a DNS subdomain and "/" before it if any' : undefined,
    ) ??
    problemOfFields(port, known.port, kinds)
  );
}
