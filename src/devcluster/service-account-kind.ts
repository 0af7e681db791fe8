// ServiceAccount, with the subresource that hands out tokens for it.
import { allVerbs, type Kind } from '../apiserver/kind.ts';
import { StatusFault } from '../apiserver/status-fault.ts';
import { notFound } from '../object/status.ts';
import type { Access } from './access.ts';
import { at } from './fields.ts';

const defaultLifetimeSeconds = 3600;

/** `newToken` makes an unguessable text. */
export function serviceAccountKind(access: Access, newToken: () => string): Kind {
  return {
    group: '',
    version: 'v1',
    kind: 'ServiceAccount',
    plural: 'serviceaccounts',
    singular: 'serviceaccount',
    shortNames: ['sa'],
    namespaced: true,
    verbs: allVerbs,
    schema: 'io.k8s.api.core.v1.ServiceAccount',
    storage: 'serviceaccounts',
    strategy: { returnsDeletedObject: true },
    columns: [],
    subresources: {
      token: {
        mode: 'action',
        kind: 'TokenRequest',
        group: 'authentication.k8s.io',
        version: 'v1',
        schema: 'io.k8s.api.authentication.v1.TokenRequest',
        act(body, ctx) {
          if (ctx.object === undefined)
            throw new StatusFault(notFound({ group: '', resource: 'serviceaccounts' }, ctx.name));
          const seconds = Number(at(body, 'spec', 'expirationSeconds') ?? defaultLifetimeSeconds);
          const token = newToken();
          const name = `system:serviceaccount:${ctx.namespace}:${ctx.name}`;
          const groups = ['system:serviceaccounts', `system:serviceaccounts:${ctx.namespace}`];
          const expiresAt = new Date(Date.parse(ctx.now) + seconds * 1000);
          access.addToken(name, { groups, token, expiresAt });
          const spec = {
            audiences: ['https://kubernetes.default.svc'],
            expirationSeconds: seconds,
            boundObjectRef: null,
          };
          const expirationTimestamp = `${expiresAt.toISOString().slice(0, 19)}Z`;
          return {
            metadata: { name: ctx.name, namespace: ctx.namespace, creationTimestamp: ctx.now },
            spec,
            status: { token, expirationTimestamp },
          };
        },
      },
    },
  };
}
