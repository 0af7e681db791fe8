// DirectClusterEndpointToken as data for the kit: clients can only create it, without a namespace and without a name.
import type { Kind, SubresourceAction } from '../../../apiserver/kinds/kind.ts';
import { managementGroup, tokenResource } from '../../scope/request.ts';
import { tokenSchemaName } from '../schema/token-schema.ts';
import { tokenKindName } from './issue-token.ts';

export function tokenKind(issue: SubresourceAction): Kind {
  return {
    group: managementGroup,
    version: 'v1',
    kind: tokenKindName,
    plural: tokenResource,
    singular: 'directclusterendpointtoken',
    namespaced: false,
    verbs: ['create'],
    schema: tokenSchemaName,
    storage: '',
    strategy: {},
    columns: [],
    answer: issue,
    holdsSecret: true,
  };
}
