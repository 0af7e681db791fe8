// Finds the holder of a connection's client certificate. Every request is checked anew: chain, end, serial number, the record of
// its issue, and the present state of its access key. So kept connections and resumed TLS sessions get the same checks.
import type { IncomingMessage } from 'node:http';
import { type PeerCertificate, TLSSocket } from 'node:tls';
import type { User } from '../../../apiserver/request/identity.ts';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import { plainSerial } from '../../../apiserver/tls/client-certificates.ts';
import type { Clock } from '../../../clock.ts';
import { unauthorized } from '../../../object/meta/status.ts';
import { credentialOf, type KeyWorld } from '../../keys/life/credential.ts';
import type { Credential } from '../../scope/allows.ts';
import type { IssueBook } from '../certificates/issue-book.ts';
import { endOf } from '../certificates/issue-record.ts';
import type { IssueCallers } from './issue-parts.ts';

export interface HolderParts {
  book: IssueBook;
  world: KeyWorld;
  callers: Pick<IssueCallers, 'forCertificate'>;
  clock: Clock;
}

export interface Holder {
  user: User;
  credential: Credential;
}

/** Undefined without a certificate. Throws a 401 for one that does not count here: of another authority, ended, of another instance. */
export function certificateHolder(
  { socket }: IncomingMessage,
  instance: string,
  { book, world, callers, clock }: HolderParts,
): Holder | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  // Null when the client has hung up, which the types of Node do not know.
  const shown = socket.getPeerCertificate() as Partial<PeerCertificate> | null;
  if (shown?.serialNumber === undefined) return undefined;
  const { serialNumber, valid_to: validTo = '' } = shown;
  const nowMs = clock.wallTime().getTime();
  if (!socket.authorized) throw refused('it is of another authority, or out of its time');
  if (nowMs >= Date.parse(validTo)) throw refused('it has expired');
  const record = book.bySerial(plainSerial(serialNumber));
  if (record === undefined || record.by !== 'listener' || record.state !== 'live')
    throw refused('it was not issued here, or has ended');
  if (record.instance !== instance) throw refused('it is for another virtual cluster');
  const over = endOf(record, world, nowMs);
  const facts = world.key(record.key.name);
  if (over !== undefined || facts === undefined) throw refused(over ?? 'its access key is gone');
  const address = socket.remoteAddress;
  const found = credentialOf(facts, world, { nowMs, address });
  if (found.kind === 'dead') throw refused(`the access key that asked for it does not count: ${found.because}`);
  const { credential } = found;
  const endMs = record.notAfterMs ?? Date.parse(validTo);
  return { user: callers.forCertificate({ credential, facts, endMs, address }), credential };
}

function refused(why: string): StatusFault {
  return new StatusFault(unauthorized(`the client certificate is not taken: ${why}`));
}
