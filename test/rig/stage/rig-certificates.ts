// What an API server of a run with TLS can show: a certificate that is well, and those that a daemon must refuse. Made once per process, since
// nothing of a run depends on their bytes. Node compares them with the clock of the machine, and not with that of the run.
import {
  makeAuthority,
  makeServingCertificate,
  type ServingCertificate,
} from '../../../src/apiserver/tls/certificates.ts';
import type { RigSide } from './rig-cluster.ts';

export interface RigCertificates {
  good: ServingCertificate;
  /** Its authority takes the place of the first one, when the operator rotates it. */
  otherCa: ServingCertificate;
  expired: ServingCertificate;
  otherName: ServingCertificate;
}

/** Longer ago than a certificate of the house lives. */
const longAgoMs = 3_660 * 86_400_000;
/** A server moves at most as often as a run has faults. */
const names = ['', 'new-', 'new-new-', 'new-new-new-'];

let made: Promise<Readonly<Record<RigSide, RigCertificates>>> | undefined;

export function rigCertificates(): Promise<Readonly<Record<RigSide, RigCertificates>>> {
  made ??= Promise.all([certificatesOf('virtual'), certificatesOf('host')]).then(([virtual, host]) => ({
    virtual,
    host,
  }));
  return made;
}

async function certificatesOf(side: RigSide): Promise<RigCertificates> {
  const now = new Date();
  const own = names.map((name) => `${name}${side}.rig`);
  const authority = await makeAuthority(side, now);
  return {
    good: await makeServingCertificate(side, own, now, authority),
    otherCa: await makeServingCertificate(side, own, now),
    expired: await makeServingCertificate(side, own, new Date(now.getTime() - longAgoMs), authority),
    otherName: await makeServingCertificate(side, ['elsewhere.rig'], now, authority),
  };
}
