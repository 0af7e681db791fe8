// Rules for single texts in a configuration: names, networks, listen addresses, label and annotation patterns. Each rule
// returns the wanted form and a fix, or undefined for a valid text.
import { isIP, isIPv6 } from 'node:net';
import { isMapped, parseAddress, parseCidr, v4Address } from '../../object/text/ip.ts';

export interface TextProblem {
  wanted: string;
  fix: string;
}

export type TextRule =
  | 'any'
  | 'name'
  | 'network'
  | 'listen'
  | 'host'
  | 'hostOrAddress'
  | 'pattern'
  | 'file'
  | 'folder'
  | 'identity'
  | 'url'
  | 'interval';

export function checkText(text: string, rule: TextRule): TextProblem | undefined {
  switch (rule) {
    case 'any':
      return undefined;
    case 'name':
      return isDnsLabel(text) ? undefined : { wanted: dnsLabelWords, fix: '' };
    case 'network':
      return networkProblem(text);
    case 'listen':
      return parseListen(text) === undefined
        ? { wanted: 'HOST:PORT with a port from 0 to 65535', fix: 'for example 127.0.0.1:9440 or [::1]:9440' }
        : undefined;
    case 'host':
      return isDnsName(text.toLowerCase())
        ? undefined
        : { wanted: 'a DNS name without a port', fix: 'for example hostward.monitoring.svc' };
    case 'hostOrAddress':
      // A URL gives its host in small letters, and is compared with the text.
      return isDnsName(text) || isIP(text) !== 0
        ? undefined
        : {
            wanted: 'a DNS name in small letters or an IP address, without scheme and port',
            fix: 'for example v1.example.com',
          };
    case 'pattern':
      return /^[A-Za-z0-9*]([A-Za-z0-9._/*-]*[A-Za-z0-9*])?$/.test(text)
        ? undefined
        : { wanted: 'a label or annotation key in which * stands for any text', fix: 'for example example.com/*' };
    case 'file':
      return text.trim() === '' ? { wanted: 'the path of a file', fix: '' } : undefined;
    case 'folder':
      return text.trim() === '' ? { wanted: 'the path of a folder', fix: '' } : undefined;
    case 'identity':
      return identityProblem(text);
    case 'url':
      return isServerURL(text)
        ? undefined
        : { wanted: 'an https address without user, query and fragment', fix: 'for example https://api.example.com' };
    case 'interval':
      return parseInterval(text) === undefined
        ? {
            wanted: '0, or a time from 1s to 24h',
            fix: `for example ${/^[1-9]\d{0,4}$/.test(text) ? `${text}s` : '60s'}`,
          }
        : undefined;
    default:
      return rule satisfies never;
  }
}

export const dnsLabelWords = 'a DNS label: 1 to 63 of a-z, 0-9 and -, with a letter or digit at both ends';

export function isDnsLabel(text: string): boolean {
  return text.length <= 63 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(text);
}

function isDnsName(text: string): boolean {
  return text.length <= 253 && text.split('.').every(isDnsLabel);
}

/** Kubernetes, kubeadm and Hostward reserve names with these beginnings. */
const reservedBeginnings = ['system:', 'kubeadm:', 'hostward:'] as const;

/** Names of users and groups must fit into a header and a field selector. */
export function identityProblem(text: string): TextProblem | undefined {
  const reserved = reservedBeginnings.find((beginning) => text.startsWith(beginning));
  if (reserved !== undefined) return { wanted: `a name that does not begin with ${reserved}`, fix: '' };
  if (/^[!-+\--~]([ -+\--~]{0,251}[!-+\--~])?$/.test(text)) return undefined;
  return { wanted: 'a name of 1 to 253 ASCII characters without commas and without blanks at its ends', fix: '' };
}

/** An https address without a user, a query or a fragment, which API clients would ignore or send along. */
export function isServerURL(text: string): boolean {
  if (!/^https:\/\/[^\s@?#\\]+$/i.test(text)) return false;
  return URL.canParse(text);
}

export function parseListen(text: string): { host: string; port: number } | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const [, bracketed, bare, digits] = match;
  const port = Number(digits);
  const host = bracketed ?? bare ?? '';
  if (port > 65535 || (bracketed !== undefined && !isIPv6(bracketed))) return undefined;
  return { host, port };
}

const unitsMs = { s: 1_000, m: 60_000, h: 3_600_000 };
const longestIntervalMs = 24 * unitsMs.h;

/** Milliseconds of `60s`, `5m` or `1h`; 0 for `0`. */
export function parseInterval(text: string): number | undefined {
  if (text === '0') return 0;
  const match = /^([1-9]\d{0,4})(s|m|h)$/.exec(text);
  if (match === null) return undefined;
  const ms = Number(match[1]) * unitsMs[match[2] as keyof typeof unitsMs];
  return ms > longestIntervalMs ? undefined : ms;
}

function networkProblem(text: string): TextProblem | undefined {
  const wanted = 'a network as ADDRESS/LENGTH';
  const [address = '', digits] = text.split(/\/(.*)/s);
  const parsed = parseAddress(address);
  if (parsed.kind === 'invalid') return { wanted, fix: 'for example 10.0.0.0/8' };
  const bits = parsed.family === 'IPv4' ? 32 : 128;
  if (digits === undefined) return { wanted, fix: `write ${text}/${bits}` };
  if (!/^(0|[1-9]\d{0,2})$/.test(digits) || Number(digits) > bits)
    return { wanted, fix: `the length is a number from 0 to ${bits}` };
  if (isMapped(parsed) && Number(digits) >= 96) {
    const { canonical } = v4Address(Number(parsed.value & 0xffffffffn));
    return { wanted: 'IPv4 networks in IPv4 form', fix: `write ${canonical}/${Number(digits) - 96}` };
  }
  const network = parseCidr(text);
  if (network.kind === 'ok') return undefined;
  return { wanted: 'a network without address bits after its prefix', fix: `write ${network.network ?? text}` };
}
