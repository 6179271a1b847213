// Left alone: what is written for people only, so that no test has to repeat it word by word.
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';

const debugText = 'a line of the debug log';
const errorText = 'the prose of an error';

const messages = {
  shouldIgnore(path) {
    const call = path.isExpressionStatement() ? path.node.expression : path.node;
    if (call.type === 'CallExpression' && nameOf(call.callee) === 'explain') return debugText;
    if (path.isStringLiteral() || path.isTemplateLiteral())
      if (path.parentPath.isNewExpression() && /^(?:Type|Range)?Error$|^DOMException$/.test(nameOf(path.parent.callee)))
        return errorText;
    return undefined;
  },
};

function nameOf(callee) {
  return callee.type === 'MemberExpression' ? callee.property.name : callee.name;
}

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, 'messages', messages)];
