// Gets a client certificate through the CSR API of the virtual cluster: ask, approve, wait for the signer, delete the request. In:
// an identity and a life. Out: the certificate that the signer made, or a Status with the reason for its absence.
import { X509Certificate } from 'node:crypto';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import {
  type ClientIdentity,
  makeSigningRequest,
  plainSerial,
  type SignedClient,
} from '../../../apiserver/tls/client-certificates.ts';
import { type Clock, pause } from '../../../clock.ts';
import type { Log } from '../../../log.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { forbidden } from '../../../object/meta/status.ts';
import { isRecord, recordsIn } from '../../../object/text/json.ts';
import { type InstanceRef, instanceText } from '../kubeconfig/names.ts';
import { instanceGroupResource } from './asked.ts';
import { badGateway, gatewayTimeout, upstreamFault } from './upstream-fault.ts';
import type { VirtualCluster } from './virtual-cluster.ts';

export interface SignAt {
  id: string;
  instance: InstanceRef;
  clock: Clock;
  log: Log;
}

/** A signer that works answers within a second or two; people wait for the answer. */
const signWithinMs = 10_000;
const lookEveryMs = 100;

export async function signByCluster(
  cluster: VirtualCluster,
  identity: ClientIdentity,
  seconds: number | undefined,
  at: SignAt,
): Promise<SignedClient> {
  const { id, instance, log } = at;
  const { keyPem, requestPem } = await makeSigningRequest(identity);
  const made = await cluster.createRequest({ id, requestPem, seconds });
  if (made.kind !== 'ok')
    throw upstreamFault(made, { instance, step: 'take a certificate signing request', isCreate: true, log });
  try {
    const approved = await cluster.approve(made.object);
    if (approved.kind !== 'ok' && approved.kind !== 'conflict')
      throw upstreamFault(approved, { instance, step: 'approve a certificate signing request', log });
    const certificatePem = await signed(cluster, at);
    const certificate = new X509Certificate(certificatePem);
    const serial = plainSerial(certificate.serialNumber);
    return { certificatePem, keyPem, serial, notAfterMs: certificate.validToDate.getTime() };
  } finally {
    // The certificate is valid without its request. If the delete fails, the cluster deletes the request an hour later.
    await cluster.deleteRequest(id);
  }
}

async function signed(cluster: VirtualCluster, { id, instance, clock, log }: SignAt): Promise<string> {
  const endMs = clock.now() + signWithinMs;
  for (;;) {
    const answer = await cluster.request(id);
    if (answer.kind !== 'ok')
      throw upstreamFault(answer, { instance, step: 'show a certificate signing request', log });
    const certificate = certificateIn(answer.object, instance);
    if (certificate !== undefined) return certificate;
    if (clock.now() >= endMs) {
      const where = instanceText(instance);
      throw gatewayTimeout(
        `the virtual cluster ${where} did not sign the certificate within ${signWithinMs / 1000} seconds; is its kube-controller-manager running?`,
      );
    }
    await pause(clock, lookEveryMs);
  }
}

function certificateIn({ status }: KubeObject, instance: InstanceRef): string | undefined {
  const { certificate, conditions } = isRecord(status) ? status : {};
  for (const condition of recordsIn(conditions)) {
    const why = String(condition['message'] ?? condition['reason'] ?? '').slice(0, longestReason);
    if (condition['type'] === 'Denied') throw denied(instance, why);
    if (condition['type'] === 'Failed')
      throw badGateway(`the virtual cluster ${instanceText(instance)} could not sign the certificate: ${why}`);
  }
  return typeof certificate === 'string' && certificate !== ''
    ? Buffer.from(certificate, 'base64').toString('utf8')
    : undefined;
}

/** The words of a signer are for people, and one sentence is enough. */
const longestReason = 300;

function denied(instance: InstanceRef, why: string): StatusFault {
  const text = `the virtual cluster ${instanceText(instance)} denied the certificate: ${why}`;
  return new StatusFault(forbidden(instanceGroupResource, instance.name, text));
}
