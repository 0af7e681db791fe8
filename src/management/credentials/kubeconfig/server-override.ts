// Checks spec.server of a kubeconfig, the address that replaces ours. Hostward never contacts this address. But other people may
// run kubectl with the kubeconfig, so the address must be plain, and kubectl still checks the certificate against the name that
// Hostward knows.
import { isServerURL } from '../../../config/settings/text-rules.ts';
import { type FieldError, invalidValue } from '../../../object/meta/field-error.ts';

/** The longest address that browsers and proxies carry. */
const longestAddress = 2_048;
const path = 'spec.server';

/** `allowed`: host names that may stand there; empty = all. */
export function serverFaults(server: string, allowed: readonly string[]): FieldError[] {
  if (server === '') return [];
  // The message does not repeat the address, because it may hold a password.
  if (server.length > longestAddress || !isServerURL(server))
    return [
      invalidValue(path, '…', 'must be an https address without user, query and fragment, like https://v1.example.com'),
    ];
  const host = hostOf(server);
  if (allowed.length === 0 || allowed.includes(host)) return [];
  return [invalidValue(path, host, `must be at one of the hosts ${allowed.join(', ')}`)];
}

export interface ServerEntry {
  server: string;
  tlsServerName: string | undefined;
}

export function serverEntry(known: string, override: string): ServerEntry {
  if (override === '') return { server: known, tlsServerName: undefined };
  const host = hostOf(known);
  return { server: override, tlsServerName: hostOf(override) === host ? undefined : host };
}

function hostOf(address: string): string {
  return new URL(address).hostname.replace(/^\[|\]$/g, '');
}
