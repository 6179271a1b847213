import { useData, withBase } from 'vitepress';
import { defineComponent, h, onMounted, ref, watch } from 'vue';

/** Four participants fit beside the outline. A phone scrolls a wide diagram, because its text would be too small to read. */
const sizes = {
  fontSize: 14,
  themeVariables: { fontSize: '14px' },
  flowchart: { useMaxWidth: false, wrappingWidth: 360 },
  sequence: { useMaxWidth: false, wrap: true, width: 120, actorMargin: 40, diagramMarginX: 8 },
  state: { useMaxWidth: false },
};

let count = 0;

/** A Mermaid diagram. Its text is on the page from the start; a picture takes its place where scripts run. */
export const Diagram = defineComponent({
  props: { source: { type: String, required: true } },
  setup(props) {
    const { isDark } = useData();
    const picture = ref('');
    const draw = async (): Promise<void> => {
      // Its own files, which tools/site.ts copies: to bundle them takes longer than the whole site.
      const { default: mermaid } = await import(/* @vite-ignore */ withBase('/mermaid/mermaid.esm.min.mjs'));
      mermaid.initialize({
        startOnLoad: false,
        securityLevel: 'strict',
        ...sizes,
        theme: isDark.value ? 'dark' : 'neutral',
      });
      count += 1;
      const { svg } = await mermaid.render(`diagram-${count}`, props.source);
      picture.value = svg;
    };
    onMounted(() => {
      void draw();
      watch(isDark, () => void draw());
    });
    const text = (): ReturnType<typeof h> => h('pre', { tabindex: 0, 'aria-label': 'Diagram as text' }, props.source);
    return () =>
      picture.value === ''
        ? h('figure', { class: 'diagram' }, [text()])
        : h('figure', { class: 'diagram' }, [
            h('div', { class: 'picture', role: 'img', tabindex: 0, 'aria-label': 'Diagram', innerHTML: picture.value }),
            h('details', null, [h('summary', null, 'Diagram as text'), text()]),
          ]);
  },
});
