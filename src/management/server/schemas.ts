// Everything that the management API has a schema for.
import type { Schemas } from '../../apiserver/kinds/kind.ts';
import { agentSchemas } from '../credentials/schema/agent-schemas.ts';
import { kubeconfigSchemas } from '../credentials/schema/kubeconfig-schema.ts';
import { tokenSchemas } from '../credentials/schema/token-schema.ts';
import { instanceSchemas } from '../keys/callers/configured-kinds.ts';
import { keySchemas } from '../keys/schema/key-schema.ts';
import { metaSchemas } from '../keys/schema/meta-schemas.ts';
import reviewSchemas from './review-schemas.json' with { type: 'json' };

export const managementSchemas: Schemas = {
  ...(reviewSchemas as unknown as Schemas),
  ...metaSchemas,
  ...keySchemas,
  ...instanceSchemas,
  ...tokenSchemas,
  ...kubeconfigSchemas,
  ...agentSchemas,
};
