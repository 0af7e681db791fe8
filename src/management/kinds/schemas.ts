// Everything that the management API has a schema for.
import type { Schemas } from '../../apiserver/kinds/kind.ts';
import { agentSchemas } from './agent-schemas.ts';
import { instanceSchemas } from './configured-kinds.ts';
import { keySchemas } from './key-schema.ts';
import { kubeconfigSchemas } from './kubeconfig-schema.ts';
import { metaSchemas } from './meta-schemas.ts';
import reviewSchemas from './review-schemas.json' with { type: 'json' };
import { tokenSchemas } from './token-schema.ts';

export const managementSchemas: Schemas = {
  ...(reviewSchemas as unknown as Schemas),
  ...metaSchemas,
  ...keySchemas,
  ...instanceSchemas,
  ...tokenSchemas,
  ...kubeconfigSchemas,
  ...agentSchemas,
};
