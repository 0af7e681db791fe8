// What a kube-apiserver takes: a patch whose result no object may hold has failed (DESIGN 4.8).

import { parseAddress } from '../words/addresses.ts';
import { isMap, type JsonMap } from '../words/json.ts';
import type { SyncedKind } from '../words/settings.ts';

const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/u;
const KEY_NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/u;
const DNS_NAME = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/u;
const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/u;
const ANNOTATIONS_LIMIT = 256 * 1024;

export const isLabelValue = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 63 && LABEL_VALUE.test(value);

function isKey(text: string): boolean {
  const slash = text.indexOf('/');
  const name = text.slice(slash + 1);
  if (name.length > 63 || !KEY_NAME.test(name)) return false;
  if (slash < 0) return true;
  const prefix = text.slice(0, slash);
  return prefix.length <= 253 && DNS_NAME.test(prefix);
}

export const areLabels = (value: unknown): value is { [key: string]: string } =>
  isMap(value) && Object.entries(value).every(([key, one]) => isKey(key) && isLabelValue(one));

export function areAnnotations(value: unknown): value is { [key: string]: string } {
  if (!isMap(value)) return false;
  const entries = Object.entries(value);
  if (!entries.every(([key, one]) => isKey(key.toLowerCase()) && typeof one === 'string')) return false;
  return entries.reduce((sum, [key, one]) => sum + Buffer.byteLength(key + String(one)), 0) <= ANNOTATIONS_LIMIT;
}

const isText = (value: unknown): boolean => value === undefined || typeof value === 'string';
const isFlag = (value: unknown): boolean => value === undefined || typeof value === 'boolean';

const hasOnly = (map: JsonMap, keys: readonly string[]): boolean => Object.keys(map).every((key) => keys.includes(key));

function isPort(port: unknown, mayLack: boolean): boolean {
  if (!isMap(port) || !hasOnly(port, ['name', 'port', 'protocol', 'appProtocol'])) return false;
  const number = port['port'];
  if (number === undefined || number === null ? !mayLack : !Number.isInteger(number)) return false;
  if (typeof number === 'number' && (number < 1 || number > 65535)) return false;
  const name = port['name'];
  if (name !== undefined && name !== '' && (typeof name !== 'string' || !DNS_LABEL.test(name))) return false;
  return [undefined, 'TCP', 'UDP', 'SCTP'].includes(port['protocol'] as string) && isText(port['appProtocol']);
}

const arePorts = (ports: unknown, mayLack: boolean): boolean => {
  if (ports === undefined || ports === null) return true;
  if (!Array.isArray(ports) || !ports.every((port) => isPort(port, mayLack))) return false;
  const names = ports.map((port) => String((port as JsonMap)['name'] ?? ''));
  return (ports.length < 2 || mayLack || !names.includes('')) && (!mayLack || new Set(names).size === names.length);
};

const isTarget = (target: unknown): boolean =>
  target === undefined || (isMap(target) && Object.values(target).every((value) => typeof value === 'string'));

const isEndpointAddress = (address: unknown): boolean =>
  isMap(address) &&
  typeof address['ip'] === 'string' &&
  parseAddress(address['ip']) !== undefined &&
  (address['hostname'] === undefined || address['hostname'] === '' || DNS_LABEL.test(String(address['hostname']))) &&
  (address['nodeName'] === undefined || DNS_NAME.test(String(address['nodeName']))) &&
  isTarget(address['targetRef']) &&
  hasOnly(address, ['ip', 'hostname', 'nodeName', 'targetRef']);

const areSubsets = (subsets: unknown): boolean => {
  if (subsets === undefined || subsets === null) return true;
  return (
    Array.isArray(subsets) &&
    subsets.every(
      (subset) =>
        isMap(subset) &&
        ['addresses', 'notReadyAddresses'].every((field) => {
          const list = subset[field] ?? [];
          return Array.isArray(list) && list.every(isEndpointAddress);
        }) &&
        arePorts(subset['ports'], false),
    )
  );
};

const fits = (address: unknown, type: unknown): boolean => {
  if (typeof address !== 'string') return false;
  if (type === 'FQDN') return DNS_NAME.test(address);
  return parseAddress(address) !== undefined && address.includes(':') === (type === 'IPv6');
};

const isEndpoint = (endpoint: unknown, type: unknown): boolean => {
  if (!isMap(endpoint)) return false;
  const addresses = endpoint['addresses'];
  if (!Array.isArray(addresses) || addresses.length === 0 || addresses.length > 100) return false;
  const conditions = endpoint['conditions'] ?? {};
  return (
    addresses.every((address) => fits(address, type)) &&
    isMap(conditions) &&
    Object.values(conditions).every(isFlag) &&
    isTarget(endpoint['targetRef']) &&
    (endpoint['hostname'] === undefined || DNS_LABEL.test(String(endpoint['hostname']))) &&
    (endpoint['nodeName'] === undefined || DNS_NAME.test(String(endpoint['nodeName']))) &&
    isText(endpoint['zone'])
  );
};

export function isValidPayload(kind: SyncedKind, payload: JsonMap): boolean {
  if (kind === 'Endpoints') return areSubsets(payload['subsets']);
  const endpoints = payload['endpoints'] ?? [];
  if (!Array.isArray(endpoints) || endpoints.length > 1000) return false;
  return (
    endpoints.every((endpoint) => isEndpoint(endpoint, payload['addressType'])) && arePorts(payload['ports'], true)
  );
}
