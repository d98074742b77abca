"""The page: a 3-D scene, live plots, events, bags and buttons, served to any browser."""

import contextlib
import io
from pathlib import Path
import socket
import time

import viser

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense_monitor import view_html
from armsense_monitor.arm_history import ArmHistory, SILENT
from armsense_monitor.page_guard import guarding, PageGuard
from armsense_monitor.view_bags import BagPanel
from armsense_monitor.view_control import Access, ArmRemote, ControlPanel
from armsense_monitor.view_playground import Playground
from armsense_monitor.view_plots import EventPanel, ResidualPlot
from armsense_monitor.view_scene import SceneView

PLOT_SECONDS = 6.0      # [s] of the live plots
PANEL_WIDTH = 380       # [pixels]
PLOT_EVERY = 5          # updates of the scene for one of plots and texts


class WebView:
    """Serves pages and keeps them up to date; `update` is called 25 times a second.

    Whatever is assigned anew is sent to the pages only where it is another value (viser's doing).
    """

    def __init__(self, model: Arm, history: ArmHistory, access: Access,
                 remote: ArmRemote | None, host: str, port: int, bags: Path,
                 guard: PageGuard | None = None) -> None:
        """Serve at an address; port 0: any that is free.

        Without `remote` there is no arm to control, only bags. Without `guard` may look whoever
        reaches it by a name of this machine.
        """
        self._model, self._history = model, history
        self._access, self._remote = access, remote
        self._server = _serve(host, port, f'armsense {model.name}',
                              guard or PageGuard((), lambda text: None))
        self._count = 0
        self._plotted: float | None = None     # [s] stamp up to which the plots go
        self._panels: dict[int, ControlPanel] = {}
        self._look()
        self._scene = SceneView(self._server, model)
        self._playground: Playground | None = None
        self._make_panels(bags)
        if remote is not None and remote.simulator:
            self._playground = Playground(self._server.gui, model, history, remote,
                                          self._may_disturb)
            self._scene.on_drag(self._playground.drag_link, self._playground.drag_thing)
        self._local = host in ('127.0.0.1', '::1', 'localhost')
        self._server.on_client_connect(self._joined)
        self._server.on_client_disconnect(self._left)

    @property
    def url(self) -> str:
        host = self._server.get_host()
        shown = 'localhost' if host in ('127.0.0.1', '0.0.0.0', '::') else host
        return f'http://{shown}:{self._server.get_port()}'

    @property
    def pages(self) -> int:
        """How many look."""
        return len(self._server.get_clients())

    def update(self) -> None:
        """Show the newest state; does nothing costly while nobody looks."""
        self._count += 1
        if not self._server.get_clients():
            return
        with self._server.atomic():
            self._scene.update(self._history)
            if self._playground is not None:
                self._playground.update()
            if self._count % PLOT_EVERY == 0:
                self._update_panels()

    def close(self) -> None:
        self._server.stop()

    # -- inside ------------------------------------------------------------------------------

    def _look(self) -> None:
        gui = self._server.gui
        gui.configure_theme(dark_mode=False, show_logo=False, show_share_button=False,
                            brand_color=(255, 146, 43))
        gui.set_panel_label(f'armsense {self._model.name}')
        gui.main_panel.dock_right()
        gui.main_panel.set_width(PANEL_WIDTH)

    def _make_panels(self, bags: Path) -> None:
        gui, history = self._server.gui, self._history
        self._status = gui.add_html('')
        self._bars = gui.add_html('')
        self._cells = gui.add_html('')
        side = gui.add_panel()
        with side.add_tab('Residuals', viser.Icon.WAVE_SINE):
            self._plots = [ResidualPlot(gui, joint, k, PLOT_SECONDS)
                           for k, joint in enumerate(history.joints)]
        with side.add_tab('Events', viser.Icon.ALERT_TRIANGLE):
            self._events = EventPanel(gui, history)
        with side.add_tab('Bags', viser.Icon.PLAYER_PLAY):
            self.bags = BagPanel(gui, bags, self._may_choose)
        with side.add_tab('Health', viser.Icon.HEARTBEAT):
            self._health = gui.add_html('')
        side.dock_left()
        side.set_width(PANEL_WIDTH)

    def _update_panels(self) -> None:
        history = self._history
        bag = self.bags.playback
        now = time.monotonic()
        source = 'bag ' + '/'.join(bag.path.parts[-2:]) if bag else 'live'
        silence = history.silence(now) if self._remote is not None and bag is None else 0.0
        self._status.content = view_html.status(history, source, silence) + (
            '' if bag else view_html.rates(history, now))
        bars = view_html.residual_bars(history.joints, history.ratio, history.residual_valid)
        self._bars.content = view_html.faded(bars) if silence > SILENT else bars
        cells = self._model.config.load_cells if self._model.config else None
        if cells is not None and len(history.cells):
            self._cells.content = view_html.cell_bars(history.cells, history.cells_valid,
                                                      cells.capacity)
        self._health.content = view_html.health(history.health)
        if history.time != self._plotted:
            self._plotted = history.time
            residual, threshold = history.residuals(PLOT_SECONDS)
            for joint, plot in enumerate(self._plots):
                plot.update(history.time or 0.0, residual, threshold, joint)
        self._events.update(history)
        self.bags.show_place()
        for panel in list(self._panels.values()):
            panel.show_silence(silence > SILENT)
            if history.reaction is not None:
                panel.show_reaction(history.reaction.strategy)

    def _joined(self, client: viser.ClientHandle) -> None:
        self._scene.look_from(client)
        if self._remote is not None:
            self._panels[client.client_id] = ControlPanel(client, self._access, self._remote,
                                                          self._history.joints)

    def _left(self, client: viser.ClientHandle) -> None:
        if self._playground is not None:
            self._playground.let_go(client.client_id)
        self._access.leave(client.client_id)
        self._panels.pop(client.client_id, None)

    def _may_disturb(self, page: int | None) -> bool:
        """Hands on a simulated arm hurt nobody; in a network, only those who may control it."""
        return self._local or (page is not None and self._access.allows(page))

    def _may_choose(self, event: viser.GuiEvent) -> bool:
        """All pages show the same: with a live arm behind it, only who may control it chooses."""
        page = event.client_id
        if self._remote is None or (page is not None and self._access.allows(page)):
            return True
        if event.client is not None:
            event.client.add_notification('Bags', 'Read-only: enter the token first.',
                                          auto_close_seconds=4.0, color='red')
        return False


def _serve(host: str, port: int, label: str, guard: PageGuard) -> viser.ViserServer:
    """A server at the first free port from `port` on."""
    try:
        with socket.create_server((host, 0)):
            pass                       # viser itself would look for a port for ever
    except OSError as error:
        raise ArmsenseError(f'cannot listen at {host!r}: {error.strerror}; use 127.0.0.1, '
                            '0.0.0.0 or an address of this machine') from error
    # Without its banner: the node prints the address.
    with contextlib.redirect_stdout(io.StringIO()), guarding(guard, label):
        server = viser.ViserServer(host=host, port=port, label=label, verbose=False)
    # A page could ask for a public tunnel to this server; nobody shall get one.
    server.request_share_url = lambda verbose=True: None   # type: ignore[method-assign]
    return server
