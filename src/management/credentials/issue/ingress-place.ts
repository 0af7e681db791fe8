// Finds the address of a virtual cluster with `servedBy: hostward`, and the authority of its certificate.
import { readNamedFile } from '../../../cluster/credentials/secret-file.ts';
import { instanceText } from '../kubeconfig/names.ts';
import { authorityOf } from '../kubeconfig/pem.ts';
import { type Form, type FormInput, noIngressFault } from './asked.ts';
import type { IssueParts } from './asker.ts';
import { notReady } from './upstream-fault.ts';

export async function ingressPlace(
  parts: IssueParts,
  asked: FormInput,
): Promise<Pick<Form, 'server' | 'authorityPem'>> {
  const { ingress } = asked.instance.settings;
  const where = instanceText(asked.instance);
  if (ingress === undefined) throw noIngressFault(asked);
  const { server, tls } = ingress;
  if (tls === undefined) return { server, authorityPem: await parts.ingressAuthority() };
  const authorityPem = authorityOf(await readNamedFile(tls.certificate).catch(() => ''));
  if (authorityPem === '')
    throw notReady(`the certificate of the virtual cluster ${where} cannot be read; ask the operator of Hostward`);
  return { server, authorityPem };
}
