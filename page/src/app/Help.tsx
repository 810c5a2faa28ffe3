/** The keys, and what the marks mean. */
import { Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";

import { t } from "../texts";
import { VerdictMark } from "../ui/marks";

export function Help({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <ModalOverlay className="dialog-ground" isOpen={isOpen} onOpenChange={(open) => !open && onClose()} isDismissable>
      <Modal className="dialog">
        <Dialog className="dialog-body">
          <div className="panel-head">
            <Heading slot="title" level={2} className="panel-title">{t.help.title}</Heading>
            <button type="button" className="icon-button" onClick={onClose} aria-label={t.close}>
              <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true"><path d="M2 2l10 10M12 2L2 12" className="stroke" /></svg>
            </button>
          </div>
          <dl className="keys">
            {t.help.keys.map(([key, means]) => <div key={key}><dt><kbd>{key}</kbd></dt><dd>{means}</dd></div>)}
          </dl>
          <h3 className="label">{t.help.marks}</h3>
          <ul className="marks-list">
            {(["accepted", "rejected", "unresolved"] as const).map((verdict) => (
              <li key={verdict}><VerdictMark verdict={verdict} /> {t.verdicts[verdict]}</li>
            ))}
          </ul>
          <p className="hint">{t.sources.chance} {t.help.typefaces}</p>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
