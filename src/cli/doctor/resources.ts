// The resources that only doctor asks for.
import type { ResourceRef } from '../../cluster/wire/scope.ts';

export const secretsResource: ResourceRef = { path: 'api/v1', resource: 'secrets', kind: 'Secret' };
