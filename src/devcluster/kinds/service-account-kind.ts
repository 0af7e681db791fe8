// ServiceAccount, with the `token` subresource, which creates tokens for the account.
import { at, items } from '../../apiserver/kinds/fields.ts';
import { allVerbs, type Kind } from '../../apiserver/kinds/kind.ts';
import { StatusFault } from '../../apiserver/request/status-fault.ts';
import { invalidValue } from '../../object/meta/field-error.ts';
import { invalid, notFound } from '../../object/meta/status.ts';
import type { Access } from './access.ts';

const defaultLifetimeSeconds = 3600;
const shortestLifetimeSeconds = 600;
const longestLifetimeSeconds = 2 ** 32;
const ownAudience = 'https://kubernetes.default.svc';

/** `newToken` must return an unguessable text. */
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
    strategy: { deletion: { returnsObject: true } },
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
          if (seconds < shortestLifetimeSeconds || seconds > longestLifetimeSeconds) {
            const limit = seconds < shortestLifetimeSeconds ? 'less than 10 minutes' : 'larger than 2^32 seconds';
            const why = `may not specify a duration ${limit}`;
            const errors = [invalidValue('spec.expirationSeconds', seconds, why)];
            throw new StatusFault(invalid({ group: 'authentication.k8s.io', kind: 'TokenRequest' }, '', errors));
          }
          const audiences = items(body, 'spec', 'audiences');
          const token = newToken();
          const name = `system:serviceaccount:${ctx.namespace}:${ctx.name}`;
          const groups = ['system:serviceaccounts', `system:serviceaccounts:${ctx.namespace}`];
          const expiresAt = new Date(Date.parse(ctx.now) + seconds * 1000);
          access.addToken(name, { groups, token, expiresAt });
          const spec = {
            audiences: audiences.length > 0 ? audiences : [ownAudience],
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
