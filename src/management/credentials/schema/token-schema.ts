// The schema of DirectClusterEndpointToken, a kind that is only created and never kept.
import type { Schemas } from '../../../apiserver/kinds/kind.ts';
import { objectSchema, textField } from '../../keys/schema/meta-schemas.ts';
import { scopeSchema } from '../../keys/schema/scope-schema.ts';

export const tokenSchemaName = 'management.platform.v1.DirectClusterEndpointToken';

export const tokenSchemas: Schemas = {
  [tokenSchemaName]: objectSchema(
    'A token for the direct endpoints of clusters. It dies with the access key that asks for it. It has no name and is not kept.',
    {
      spec: {
        type: 'object',
        description: 'The life and the limits of the token.',
        'x-pointers': ['scope'],
        properties: {
          ttl: {
            type: 'integer',
            format: 'int64',
            description:
              'Lifetime in seconds, from 60 to 86400. 0 or absent = 3600, or less where the access key ends earlier.',
          },
          scope: {
            ...scopeSchema,
            description:
              'Limits of the token, inside the scope of the access key. Absent = the scope of the access key.',
          },
        },
      },
      status: {
        type: 'object',
        description: 'The token. Read-only.',
        properties: { token: textField('The token, sent as a bearer token. Shown in this answer alone.') },
      },
    },
  ),
};
