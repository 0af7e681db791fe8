// Everything that the management API has a schema for, and the few kinds that kubectl sends as protobuf.
import type { Schemas } from '../../apiserver/kinds/kind.ts';
import type { ProtobufTypes } from '../../apiserver/kinds/protobuf-body.ts';
import { agentSchemas } from './agent-schemas.ts';
import { instanceSchemas } from './configured-kinds.ts';
import { keySchemas } from './key-schema.ts';
import { kubeconfigSchemas } from './kubeconfig-schema.ts';
import { metaSchemas } from './meta-schemas.ts';
import reviewProtobuf from './review-protobuf.json' with { type: 'json' };
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

export const managementProtobuf = reviewProtobuf as unknown as ProtobufTypes;
