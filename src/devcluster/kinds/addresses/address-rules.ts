// Validates the addresses of Endpoints and EndpointSlices with the real server's messages. Like the real server, reports an
// address with leading zeros for its form, and still checks its range.
import { type FieldError, invalidValue } from '../../../object/meta/field-error.ts';
import { type Address, isMapped, parseAddress } from '../../../object/text/ip.ts';

/** Two lists, because callers report other faults of the address between form and range. */
export function addressErrors(ip: string, path: string): { form: FieldError[]; range: FieldError[] } {
  const parsed = parseAddress(ip);
  const sloppy = parsed.kind === 'ok' ? parsed : parseAddress(withoutLeadingZeros(ip));
  const isLeadingZero = parsed.kind === 'invalid' && parsed.problem === 'leadingZero';
  if (sloppy.kind === 'invalid' || (parsed.kind === 'invalid' && !isLeadingZero)) {
    return {
      form: [invalidValue(path, ip, 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)')],
      range: [invalidValue(path, ip, 'must be a valid IP address')],
    };
  }
  const form: FieldError[] = [];
  if (isLeadingZero) form.push(invalidValue(path, ip, 'must not have leading 0s'));
  if (isMapped(sloppy)) {
    form.push(invalidValue(path, ip, 'must not be an IPv4-mapped IPv6 address'));
  }
  return { form, range: rangeProblems(sloppy, ip).map((why) => invalidValue(path, ip, why)) };
}

function withoutLeadingZeros(ip: string): string {
  return ip.replace(/(^|[.:])0+(?=\d)(?=[^:]*\.|\d{0,3}$)/g, '$1');
}

const v4Mask = 0xffffffffn;

function rangeProblems(address: Address, ip: string): string[] {
  const { family, value } = address;
  if (family === 'IPv4' || isMapped(address)) {
    const number = Number(value & v4Mask);
    if (number === 0) return [`may not be unspecified (${ip})`];
    if (number >>> 24 === 127) return [loopback];
    if (number >>> 16 === 0xa9fe) return [linkLocal];
    return number >>> 8 === 0xe00000 ? [linkLocalMulticast] : [];
  }
  if (value === 0n) return [`may not be unspecified (${ip})`];
  if (value === 1n) return [loopback];
  if (value >> 118n === 0x3fan) return [linkLocal];
  const isMulticast = value >> 120n === 0xffn;
  return isMulticast && ((value >> 112n) & 0xfn) === 2n ? [linkLocalMulticast] : [];
}

const loopback = 'may not be in the loopback range (127.0.0.0/8, ::1/128)';
const linkLocal = 'may not be in the link-local range (169.254.0.0/16, fe80::/10)';
const linkLocalMulticast = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)';
