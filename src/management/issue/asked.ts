// What is asked of a kubeconfig, once the body and the caller are read, what one form of it answers, and the refusals that both have.
import type { SubresourceAction } from '../../apiserver/kinds/kind.ts';
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import { conflict, invalid } from '../../object/meta/status.ts';
import { kubeconfigKindName } from '../kinds/kubeconfig-schema.ts';
import type { KubeconfigUser } from '../kubeconfig/text.ts';
import { instanceResource, managementGroup } from '../scope/request.ts';
import type { Asker, Instance, IssueParts } from './asker.ts';

export const instanceGroupResource = { group: managementGroup, resource: instanceResource };

export type ActionContext = Parameters<SubresourceAction>[1];

export interface KubeconfigSpec {
  certificateTTL: number | undefined;
  server: string;
  clientCert: boolean;
}

/** What one form of a kubeconfig is made of. */
export interface Asked {
  spec: KubeconfigSpec;
  asker: Asker;
  instance: Instance;
  ctx: ActionContext;
}

/** Where the kubeconfig leads, and with which credential; `user` is undefined in a dry run. */
export interface Form {
  server: string;
  authorityPem: string;
  user: KubeconfigUser | undefined;
  /** When the credential ends; undefined in a dry run. */
  expiresMs: number | undefined;
  /** For the audit log: what was made, without the secret. */
  made: string;
}

export type MakeForm = (parts: IssueParts, asked: Asked) => Promise<Form>;

/** 422: the values can never be right. */
export function unacceptable({ ctx }: Asked, errors: Parameters<typeof invalid>[2]): StatusFault {
  return new StatusFault(invalid({ group: managementGroup, kind: kubeconfigKindName }, ctx.name, errors));
}

/** 409: the configuration of the virtual cluster lacks something. */
export function missing({ ctx }: Asked, why: string): StatusFault {
  return new StatusFault(conflict(instanceGroupResource, ctx.name, why));
}
