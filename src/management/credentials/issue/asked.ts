// Types for a request for a kubeconfig, for the answer of each form (token or certificate), and the refusals that both forms
// share.
import type { SubresourceAction } from '../../../apiserver/kinds/kind.ts';
import { StatusFault } from '../../../apiserver/request/status-fault.ts';
import { conflict, invalid } from '../../../object/meta/status.ts';
import { instanceResource, managementGroup } from '../../scope/request.ts';
import { instanceText } from '../kubeconfig/names.ts';
import type { KubeconfigUser } from '../kubeconfig/text.ts';
import { kubeconfigKindName } from '../schema/kubeconfig-schema.ts';
import type { Asker, Instance, IssueParts } from './asker.ts';

export const instanceGroupResource = { group: managementGroup, resource: instanceResource };

export type ActionContext = Parameters<SubresourceAction>[1];

export interface KubeconfigSpec {
  certificateTTL: number | undefined;
  server: string;
  clientCert: boolean;
}

/** The input of one form of a kubeconfig. */
export interface FormInput {
  spec: KubeconfigSpec;
  asker: Asker;
  instance: Instance;
  ctx: ActionContext;
}

/** The address and the credential of the kubeconfig; `user` is undefined in a dry run. */
export interface Form {
  server: string;
  authorityPem: string;
  user: KubeconfigUser | undefined;
  /** When the credential ends; undefined in a dry run. */
  expiresMs: number | undefined;
  /** For the audit log: the credential without its secret. */
  made: string;
}

export type MakeForm = (parts: IssueParts, asked: FormInput) => Promise<Form>;

/** 422: the values can never be right. */
export function unacceptable({ ctx }: FormInput, errors: Parameters<typeof invalid>[2]): StatusFault {
  return new StatusFault(invalid({ group: managementGroup, kind: kubeconfigKindName }, ctx.name, errors));
}

/** 409: the configuration of the virtual cluster lacks something. */
export function missing({ ctx }: FormInput, why: string): StatusFault {
  return new StatusFault(conflict(instanceGroupResource, ctx.name, why));
}

/** 409, with the setting that an operator would write. */
export function noIngressFault(asked: FormInput): StatusFault {
  const where = instanceText(asked.instance);
  const setting = 'hostward.management.projects[].virtualClusters[].ingress';
  return missing(
    asked,
    `no ingress endpoint is configured for the virtual cluster ${where}; write its address into ${setting}.server of the configuration`,
  );
}
